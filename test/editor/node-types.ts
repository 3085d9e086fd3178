import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { Conflict, Fields } from '#lib/config/fields';

export const projectRoot = resolve(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

type AnyConfig = Record<string, unknown>;
export interface NodeTypeConfig {
  readonly fields: Fields<AnyConfig>;
  readonly credentials?: Readonly<Record<string, { readonly type: string }>>;
  readonly problemsOf?: (config: AnyConfig) => readonly Conflict<AnyConfig>[];
}

/** Every node type there is: a folder in nodes/ that has an editor half. */
export const nodeTypes: readonly string[] = readdirSync(join(projectRoot, 'nodes'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .filter((type) => readdirSync(join(projectRoot, 'nodes', type)).includes(`${type}.editor.ts`));

/** Configuration nodes: others refer to them, and they aren't on the canvas. */
export const configTypes: readonly string[] = nodeTypes.filter((type) =>
  readFileSync(join(projectRoot, 'nodes', type, `${type}.editor.ts`), 'utf8').includes('defineConfigNode('),
);

export const canvasTypes: readonly string[] = nodeTypes.filter((type) => !configTypes.includes(type));

export function configOf(type: string): NodeTypeConfig {
  return require(join(projectRoot, 'dist/nodes', type, `${type}.config.js`)) as NodeTypeConfig;
}

export const readProject = (path: string) => readFileSync(join(projectRoot, path), 'utf8');

/** The dialog of a node as the build writes it. */
export function formOf(type: string): string {
  const html = readProject(`dist/nodes/${type}/${type}.html`);
  return /<script type="text\/html"[^>]*>([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '';
}

/** The built texts of a node, those of all nodes merged in: `a.b.c` -> text. */
export function textsOf(type: string, language = 'en-US'): Map<string, string> {
  const texts = new Map<string, string>();
  const collect = (value: unknown, path: string) => {
    if (typeof value === 'string') texts.set(path, value);
    else
      for (const [key, inner] of Object.entries(value as object))
        collect(inner, path ? `${path}.${key}` : key);
  };
  collect(JSON.parse(readProject(`dist/nodes/${type}/locales/${language}/${type}.json`)), '');
  return texts;
}

/** What a type needs to be valid: values for those fields whose default won't do, and secrets. */
export const NEEDED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'signed-webhook': { hook: 'orders', credentials: { secret: 'it-is-a-secret' } },
  'ingest-api': { source: 'plant-1', credentials: { token: 'it-is-a-token' } },
  'record-schema': { schema: '{"temp": "float"}' },
  'record-transform': { language: 'sql', expression: 'SELECT id FROM s', columns: '{"id":"bigint"}' },
  'record-template': { template: '{{temp}}' },
  'rest-sink': { url: 'http://127.0.0.1:9/' },
  'clickhouse-sink': { server: 'server-1', table: 'readings' },
  'postgres-sink': { server: 'server-1', table: 'readings' },
  'sluice-clickhouse-server': { url: 'http://127.0.0.1:8123' },
  'sluice-postgres-server': { database: 'plant', credentials: { username: 'writer' } },
};
