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
  /** That holds only for messages that are part of a sequence. */
  readonly sequencesOnly?: true;
  /** A way out that the walk doesn't follow. */
  readonly channel?: string;
}

const LINK_CALL = /\blinkcall\s*\(/;
const STORES_CONTEXT = /\b(?:flow|global|context)\s*\.\s*set\s*\(/;
const CONTEXT = 'keeps values in context, where other nodes may pick them up';

/** Names of the context stores that answer later than at once; `default` is the one of keys that name no store. */
export type AsyncStores = ReadonlySet<string>;

/** A flow file alone doesn't tell of the settings that it runs with. */
const NO_ASYNC_STORES: AsyncStores = new Set();

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

/** Whether this value of a typed input is read from a store that answers later. */
function readsLater(value: unknown, type: unknown, stores: AsyncStores): boolean {
  const text = textOf(value);
  if (type === 'flow' || type === 'global') {
    return stores.has(/^#:\((\S+?)\)::/.exec(text)?.[1] ?? 'default');
  }
  // An expression may compute which store it reads.
  return type === 'jsonata' && stores.size > 0 && /\$(?:flow|global)Context\b/.test(text);
}

/**
 * A switch never says when it is done. What it sends on at once, or after an expression, can be told by its pace; what it
 * keeps until a sequence is complete, or until a store has answered, can't.
 */
function onSwitch({ property, propertyType, repair, rules }: FlowConfigNode, stores: AsyncStores): Remarks {
  const tests = Array.isArray(rules) ? rules.filter(isRecord) : [];
  const reads = tests.some(
    ({ t, v, vt, v2, v2t }) =>
      readsLater(v, t === 'jsonata_exp' ? 'jsonata' : vt, stores) || readsLater(v2, v2t, stores),
  );
  if (reads || readsLater(property, propertyType, stores)) {
    return {
      untrackable: 'the switch reads a context store that answers later, and never says when it is done',
    };
  }
  if (!repair && !tests.some(({ t }) => t === 'tail')) return NONE;
  return {
    untrackable: 'the switch keeps the messages of a sequence back until that is complete',
    sequencesOnly: true,
  };
}

function remarkOn(node: FlowConfigNode, stores: AsyncStores): Remarks {
  if (node.type === 'function') return onFunction(textOf(node.func));
  if (node.type === 'change') return onChange(node.rules);
  if (node.type === 'trigger') return onTrigger(node);
  if (node.type === 'switch') return onSwitch(node, stores);
  const channel = CHANNELS.get(node.type);
  return channel === undefined ? NONE : { channel };
}

/** What the saved properties tell; nodes without remarks are absent. */
export function remarksOn(
  flows: readonly FlowConfigNode[],
  asyncStores: AsyncStores = NO_ASYNC_STORES,
): Map<FlowConfigNode, Remarks> {
  const remarks = new Map<FlowConfigNode, Remarks>();
  for (const node of flows) {
    const remark = remarkOn(node, asyncStores);
    if (remark.callsLinks || remark.untrackable || remark.channel) remarks.set(node, remark);
  }
  return remarks;
}
