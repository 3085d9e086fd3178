import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FlowNode } from '../harness/node-red';

const folder = resolve(import.meta.dirname, '../../examples');

/** Names of all examples, without `.json`. */
export const examples: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

export function readExample(name: string): FlowNode[] {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as FlowNode[];
}
