/** What the saved properties of a node tell about records that the walk or lineage can't follow. */
import type { FlowConfigNode } from '../node-red/types';
import { isRecord, textOf } from './flow-json';
import { sendsLater } from './function-code';
import { CHANNELS } from './node-types';

export interface Remarks {
  /** Function code that calls routines by `node.linkcall` (Node-RED 5). */
  readonly callsLinks?: true;
  /** Why lineage can't tell when a record is finished here. */
  readonly untrackable?: string;
  /** A way out that the walk doesn't follow. */
  readonly channel?: string;
}

const LINK_CALL = /\blinkcall\s*\(/;
const STORES_CONTEXT = /\b(?:flow|global|context)\s*\.\s*set\s*\(/;
const CONTEXT = 'keeps values in context, where other nodes may pick them up';

const NONE: Remarks = {};

function onFunction(code: string): Remarks {
  if (!/linkcall|node\.send|\.\s*set\s*\(/.test(code)) return NONE;
  return {
    ...(LINK_CALL.test(code) && { callsLinks: true }),
    ...(sendsLater(code) && {
      untrackable:
        'the code sends from a callback and never calls node.done(): it counts as finished before it has sent',
    }),
    ...(STORES_CONTEXT.test(code) && { channel: CONTEXT }),
  };
}

function onChange(rules: unknown): Remarks {
  const stores = (rule: unknown) =>
    isRecord(rule) &&
    ((rule.t === 'set' && (rule.pt === 'flow' || rule.pt === 'global')) ||
      (rule.t === 'move' && (rule.tot === 'flow' || rule.tot === 'global')));
  return Array.isArray(rules) && rules.some(stores) ? { channel: CONTEXT } : NONE;
}

/** A trigger node is done at once and sends its second message, or its repetitions, later. */
function onTrigger(node: FlowConfigNode): Remarks {
  const duration = Number.parseFloat(String(node.duration ?? ''));
  const sendsSecond = node.op2type !== 'nul' && (duration !== 0 || node.overrideDelay === true);
  const repeats = duration < 0 && node.op1type !== 'nul';
  if (!(duration < 0 ? repeats : sendsSecond)) return NONE;
  return {
    untrackable: repeats
      ? 'the trigger repeats its message after it counts as finished'
      : 'the trigger sends a second message after it counts as finished',
  };
}

function remarkOn(node: FlowConfigNode): Remarks {
  if (node.type === 'function') return onFunction(textOf(node.func));
  if (node.type === 'change') return onChange(node.rules);
  if (node.type === 'trigger') return onTrigger(node);
  const channel = CHANNELS.get(node.type);
  return channel === undefined ? NONE : { channel };
}

export function remarksOn(flows: readonly FlowConfigNode[]): Map<FlowConfigNode, Remarks> {
  const remarks = new Map<FlowConfigNode, Remarks>();
  for (const node of flows) {
    const remark = remarkOn(node);
    if (remark.callsLinks || remark.untrackable || remark.channel) remarks.set(node, remark);
  }
  return remarks;
}
