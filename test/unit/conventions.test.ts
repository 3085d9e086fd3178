import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.sluice', 'coverage']);
const CODE = new Set(['.ts', '.mts', '.mjs', '.cjs']);

function walk(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? walk(path) : [path];
  });
}

const files = walk(root).map((path) => ({
  path: relative(root, path).split(sep).join('/'),
  text: readFileSync(path, 'utf8'),
}));
const code = files.filter(({ path }) => CODE.has(extname(path)));

const hits = (among: typeof files, pattern: RegExp) =>
  among.flatMap(({ path, text }) => (pattern.exec(text) ?? []).slice(0, 1).map((hit) => `${path}: ${hit}`));

describe('the tree', () => {
  it('holds no path of a developer machine', () => {
    expect(hits(files, /(?<![\w.*:])\/(?:work|home|Users|root|mnt|workspace)\/[\w.-]+/)).toEqual([]);
  });

  it('holds no package registry other than the public one', () => {
    const registry =
      /https?:\/\/(?!registry\.npmjs\.org)[\w.-]*(?:registry|artifactory|nexus|verdaccio)[\w.-]*/i;
    expect(hits(files, registry)).toEqual([]);
    expect(files.map(({ path }) => path)).not.toContain('.npmrc');
  });

  it('has no file of more than 400 lines', () => {
    const lengths = code.map(({ path, text }) => ({ path, lines: text.split('\n').length }));
    expect(lengths.filter(({ lines }) => lines > 400)).toEqual([]);
  });

  it('has no file whose name could hold anything', () => {
    const vague = /^(?:utils?|helpers?|common|manager|service|misc)\b/;
    expect(code.map(({ path }) => basename(path)).filter((name) => vague.test(name))).toEqual([]);
  });

  it('has kebab-case names for all code', () => {
    const kebab = /^\.?[a-z0-9]+(?:[-.][a-z0-9]+)*$/;
    expect(code.map(({ path }) => basename(path)).filter((name) => !kebab.test(name))).toEqual([]);
  });

  it('silences neither compiler nor linter and leaves nothing to be done', () => {
    const silenced = new RegExp(
      ['@ts-' + 'ignore', '@ts-' + 'nocheck', 'eslint-' + 'disable', 'TO' + 'DO\\b'].join('|'),
    );
    expect(hits(code, silenced)).toEqual([]);
  });

  it('skips no test', () => {
    const tests = code.filter(({ path }) => path.endsWith('.test.ts'));
    expect(tests.length).toBeGreaterThan(3);
    expect(hits(tests, /\b(?:it|test|describe)\.(?:skip|only|todo)\b/)).toEqual([]);
  });
});
