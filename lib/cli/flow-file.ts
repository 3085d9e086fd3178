import { readFileSync } from 'node:fs';
import { InputError } from '../errors/errors';
import type { FlowConfigNode } from '../node-red/types';

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFlowNode(value: unknown): value is FlowConfigNode {
  return isObject(value) && typeof value.id === 'string' && typeof value.type === 'string';
}

function notAFlow(path: string, problem: string): InputError {
  return new InputError(
    'ERR_SLUICE_CLI_NOT_A_FLOW',
    `${path} ${problem}; give the flows.json of a Node-RED user directory, or an export of all flows`,
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new InputError(
      'ERR_SLUICE_CLI_FILE_UNREADABLE',
      `cannot read ${path} (${code}); check the path and its permissions`,
      { cause },
    );
  }
}

/** The nodes of a flow file: Node-RED's array, or `{flows: [...]}` as its admin API gives it. Throws InputError. */
export function readFlowFile(path: string): readonly FlowConfigNode[] {
  const text = readText(path);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw notAFlow(path, 'is not valid JSON');
  }
  const flows: unknown = isObject(parsed) ? parsed.flows : parsed;
  if (!Array.isArray(flows)) throw notAFlow(path, 'holds no list of nodes');
  const nodes = flows.filter(isFlowNode);
  if (nodes.length < flows.length) throw notAFlow(path, 'has entries without an id and a type');
  return nodes;
}
