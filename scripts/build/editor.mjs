// Writes what the editor loads of one node beside its compiled js: html, icon, locale files, help in other languages.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRequire } from 'node:module';
import * as esbuild from 'esbuild';
import { CAPTURE, definitionProblems, evaluateDefinition, printScript } from './definition.mjs';
import { expandForm } from './form.mjs';

const require = createRequire(import.meta.url);

const COMMON = 'sluice';
const DEFAULT_LANGUAGE = 'en-US';

/** @param {string} entry */
async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    define: { 'RED.nodes.registerType': CAPTURE },
  });
  return result.outputFiles.map((file) => file.text).join('');
}

/**
 * @param {string} type
 * @param {string} help
 */
const helpScript = (type, help) =>
  `<script type="text/markdown" data-help-name="${type}">\n${help.trimEnd()}\n</script>\n`;

/**
 * A node's texts with those that all nodes share under one key.
 * @param {string} root
 * @param {string} type
 * @param {string} language
 */
async function mergedTexts(root, type, language) {
  const own = join('nodes', type, 'locales', language, `${type}.json`);
  const texts = JSON.parse(await readFile(join(root, own), 'utf8'));
  const shared = join(root, 'lib/editor/locales', `${language}.json`);
  if (!existsSync(shared)) return texts;
  if (COMMON in texts) throw new Error(`${own} has the key "${COMMON}", which lib/editor/locales fills`);
  return { ...texts, [COMMON]: JSON.parse(await readFile(shared, 'utf8')) };
}

/**
 * @param {string} root
 * @param {string} type
 * @param {string} target
 */
async function writeLocales(root, type, target) {
  const folder = join(root, 'nodes', type, 'locales');
  await rm(join(target, 'locales'), { recursive: true, force: true });
  for (const language of await readdir(folder)) {
    const into = join(target, 'locales', language);
    await mkdir(into, { recursive: true });
    const texts = await mergedTexts(root, type, language);
    await writeFile(join(into, `${type}.json`), `${JSON.stringify(texts, null, 2)}\n`);
    const help = join(folder, language, `${type}.help.md`);
    if (language !== DEFAULT_LANGUAGE && existsSync(help)) {
      await writeFile(join(into, `${type}.html`), helpScript(type, await readFile(help, 'utf8')));
    }
  }
}

/**
 * Throws with a sentence that names the node when something of it is missing or doesn't work.
 * @param {string} root
 * @param {string} type
 * @param {string} target
 */
export async function buildEditor(root, type, target) {
  const source = join(root, 'nodes', type);
  const script = await bundle(join(source, `${type}.editor.ts`));
  const definition = evaluateDefinition(script, type);
  const problems = definitionProblems(definition);
  if (problems.length > 0) throw new Error(problems.join('; '));
  const config = require(join(target, `${type}.config.js`));
  const texts = await mergedTexts(root, type, DEFAULT_LANGUAGE);
  const isConfigNode = definition['category'] === 'config';
  const rows = await readFile(join(source, `${type}.html`), 'utf8');
  const form = expandForm(rows, type, config, texts, isConfigNode);
  const help = await readFile(join(source, 'locales', DEFAULT_LANGUAGE, `${type}.help.md`), 'utf8');
  await mkdir(join(target, 'icons'), { recursive: true });
  await writeFile(
    join(target, `${type}.html`),
    `<script type="text/javascript">\n${printScript(type, script, definition)}</script>\n` +
      `<script type="text/html" data-template-name="${type}">\n${form.trimEnd()}\n</script>\n` +
      helpScript(type, help),
  );
  await copyFile(join(root, 'icons', `${type}.svg`), join(target, 'icons', `${type}.svg`));
  await writeLocales(root, type, target);
}
