import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FlowNode } from '../harness/node-red';

const folder = resolve(import.meta.dirname, '../../examples');

/** Names of the examples that need nothing but Node-RED and this package, without `.json`. */
export const examples: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

/** Needs FlowFuse Dashboard. */
export const DASHBOARD_EXAMPLE = 'dashboard/queues-and-sinks';

export const allExamples: readonly string[] = [...examples, DASHBOARD_EXAMPLE];

export function readExample(name: string): FlowNode[] {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as FlowNode[];
}
