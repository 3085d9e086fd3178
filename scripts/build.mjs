// Builds dist/: the runtime by tsc (CommonJS, not bundled, so that all nodes share one copy of lib), each node's editor
// by esbuild into one html beside its compiled js, and locales and icons where Node-RED looks for them.
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as esbuild from 'esbuild';

const root = join(import.meta.dirname, '..');
const out = join(root, 'dist');

function compileRuntime() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}

async function nodeTypes() {
  const entries = await readdir(join(root, 'nodes'), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

async function bundleEditor(type) {
  const result = await esbuild.build({
    entryPoints: [join(root, 'nodes', type, `${type}.editor.ts`)],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
  });
  return result.outputFiles[0].text;
}

async function buildEditor(type) {
  const source = join(root, 'nodes', type);
  const target = join(out, 'nodes', type);
  if (!existsSync(join(source, `${type}.editor.ts`))) return;
  const form = await readFile(join(source, `${type}.html`), 'utf8');
  const help = await readFile(join(source, 'locales/en-US', `${type}.help.md`), 'utf8');
  const script = await bundleEditor(type);
  await writeFile(
    join(target, `${type}.html`),
    `<script type="text/javascript">\n${script}</script>\n` +
      `<script type="text/html" data-template-name="${type}">\n${form}</script>\n` +
      `<script type="text/markdown" data-help-name="${type}">\n${help}</script>\n`,
  );
  await mkdir(join(target, 'icons'), { recursive: true });
  await copyFile(join(root, 'icons', `${type}.svg`), join(target, 'icons', `${type}.svg`));
  for (const language of await readdir(join(source, 'locales'))) {
    const texts = `${type}.json`;
    await mkdir(join(target, 'locales', language), { recursive: true });
    const own = JSON.parse(await readFile(join(source, 'locales', language, texts), 'utf8'));
    const shared = JSON.parse(await readFile(join(root, 'lib/editor/locales', `${language}.json`), 'utf8'));
    await writeFile(join(target, 'locales', language, texts), JSON.stringify({ ...own, sluice: shared }));
  }
}

if (process.argv.includes('--clean')) await rm(out, { recursive: true, force: true });
compileRuntime();
await Promise.all((await nodeTypes()).map(buildEditor));
