import { describe, expect, it } from 'vitest';
import { formOf, nodeTypes, readProject, textsOf } from './node-types';

const keysIn = (html: string) =>
  [...html.matchAll(/data-i18n="([^"]+)"/g)]
    .flatMap(([, value]) => (value ?? '').split(';'))
    .map((key) => key.replace(/^\[[^\]]+\]/, ''));

describe.each(nodeTypes)('texts of %s', (type) => {
  const html = formOf(type);
  const texts = textsOf(type);

  it('has a text for each key of the form', () => {
    expect(keysIn(html).filter((key) => !texts.has(key))).toEqual([]);
  });

  it('has no text of its own that the form or the editor half never shows', () => {
    const own = [...texts.keys()].filter((key) => key.startsWith(`${type}.`));
    const usedByCode = /\.(label\.palette|output\.\d+|problem\.\w+|status\.\w+|alert\.[\w.]+)$/;
    const used = new Set(keysIn(html));
    const script = readProject(`nodes/${type}/${type}.editor.ts`);
    const inScript = (key: string) =>
      script.includes(key) || script.includes(`${key.slice(0, key.lastIndexOf('.'))}.\${`);
    expect(own.filter((key) => !used.has(key) && !usedByCode.test(key) && !inScript(key))).toEqual([]);
  });

  it('writes no text into the form but names of products, units and samples', () => {
    const withoutTags = html.replace(/<!--[\s\S]*?-->/g, '').replace(/<[^>]*>/g, '\n');
    const words = withoutTags.split('\n').map((line) => line.trim());
    const allowed = /^$|^(KB|MB|ms|msg\.|\/api\/[a-z]+\/|GET|POST|PUT|PATCH|DELETE)$/;
    expect(words.filter((word) => !allowed.test(word))).toEqual([]);
  });

  it('has a label for each input', () => {
    const inputs = [...html.matchAll(/<(?:input|select|textarea)\b[^>]*\bid="([^"]+)"/g)].map(([, id]) => id);
    const labelled = new Set([...html.matchAll(/<label\s+for="([^"]+)"/g)].map(([, id]) => id));
    expect(inputs.length).toBeGreaterThan(0);
    expect(inputs.filter((id) => !labelled.has(id))).toEqual([]);
  });

  it('has help with the sections that Node-RED users expect', () => {
    const help = readProject(`nodes/${type}/locales/en-US/${type}.help.md`);
    expect(help).toMatch(/^### Details$/m);
    expect(help).toMatch(/^### (Inputs|Outputs)$/m);
    expect(help).toMatch(/^### References$/m);
  });

  it('draws its icon in white on transparent, 40 x 60', () => {
    const icon = readProject(`icons/${type}.svg`);
    expect(icon).toMatch(/width="40"[^>]*height="60"/);
    const paints = [...icon.matchAll(/(?:fill|stroke)="([^"]+)"/g)].map(([, paint]) => paint);
    expect(new Set(paints)).toEqual(new Set(['none', '#fff'].filter((paint) => paints.includes(paint))));
  });
});
