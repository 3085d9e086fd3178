import {
  batchCount,
  batchInterval,
  change,
  delay,
  exec,
  file,
  func,
  httpRequest,
  joinAuto,
  joinCount,
  json,
  linkCall,
  rateLimit,
  rbe,
  split,
  switchOn,
  template,
  trigger,
} from './lineage-flows';
import type { TabNode } from './lineage-rig';

export interface Case {
  readonly name: string;
  /** From `src`, a t-source that is wired to `a`, to `sink`, a t-sink. */
  readonly nodes: readonly TabNode[];
  /** One for each record that is sent at once. */
  readonly verdicts: readonly string[];
  readonly msg?: object;
  readonly timeoutMs?: number;
  /** The source takes nodes that can't be tracked as done. */
  readonly trusted?: boolean;
  /** Signs of life after `done`. */
  readonly late?: number;
  /** How many messages the sink has finished with when the verdicts are there; not given where that may vary. */
  readonly delivered?: number;
}

const sink: TabNode = ['sink', 't-sink', ''];
const failing: TabNode = ['sink', 't-sink', '', { fail: 'plain', ms: 100 }];
const pass = switchOn({ t: 'else' });
const drop = switchOn({ t: 'eq', v: 'nope', vt: 'str' });

/**
 * Every way through core and test nodes, with the verdict it must get. Properties that begin with `@.`, `URL/` and
 * `FOLDER/` stand for the case's own tab, a web server with /ok and /500, and a folder that can be written to.
 */
export function verdictCases(): Case[] {
  const one = (
    name: string,
    verdict: string,
    nodes: readonly TabNode[],
    rest: Partial<Omit<Case, 'name' | 'nodes'>> = {},
  ): Case => ({ name, nodes, verdicts: [verdict], ...rest });
  const toSink = (type: string, properties: object, targets: TabNode[2] = 'sink'): TabNode[] => [
    ['a', type, targets, properties],
    sink,
  ];
  const sendsLate = toSink('function', func('setTimeout(() => node.send({payload: 2}), 300)'));
  return [
    one('a sink', 'done', [['a', 't-sink', '']]),
    one('a sink that fails', 'failed', [['a', 't-sink', '', { fail: 'plain' }]]),
    one('a fan-out to three sinks', 'done', [
      ['a', 'function', 's1 s2 s3', func('return msg')],
      ['s1', 't-sink', '', { ms: 50 }],
      ['s2', 't-sink', '', { ms: 100 }],
      ['s3', 't-sink', '', { ms: 150 }],
    ]),
    one('a function', 'done', toSink('function', func('return msg')), { delivered: 1 }),
    one(
      'a function that returns a new object without _msgid',
      'done',
      toSink('function', func('return {payload: 1}')),
      { delivered: 1 },
    ),
    one(
      'a function that returns three messages and a null',
      'done',
      toSink('function', func('return [[{payload: 1}, {payload: 2}, {payload: 3}], null]', 2), [
        ['sink'],
        [],
      ]),
      { delivered: 3 },
    ),
    one('a function that returns null', 'done', toSink('function', func('return null')), { delivered: 0 }),
    one(
      'a function with node.send and node.done in a callback',
      'done',
      toSink('function', func('setTimeout(() => { node.send({payload: 2}); node.done(); }, 100)')),
      { delivered: 1 },
    ),
    one('a function with node.send in a callback, without node.done', 'unknown', sendsLate),
    one('the same function, trusted,', 'done', sendsLate, { trusted: true, late: 1 }),
    one(
      'a function that awaits and returns',
      'done',
      toSink('function', func('await new Promise((resolve) => setTimeout(resolve, 100)); return msg')),
      { delivered: 1 },
    ),
    one('a function that throws', 'failed', toSink('function', func('throw new Error("x")'))),
    one(
      'a function with node.error(e, msg)',
      'failed',
      toSink('function', func('node.error("bad", msg); return null')),
    ),
    one(
      'a function with node.error(e), without the message',
      'failed',
      toSink('function', func('node.error("bad"); return null')),
    ),
    one('a change', 'done', toSink('change', change), { delivered: 1 }),
    one('a switch that drops', 'done', toSink('switch', drop), { delivered: 0 }),
    one('a switch that passes', 'done', toSink('switch', pass), { delivered: 1 }),
    one('split and join', 'done', [['a', 'split', 'j', split], ['j', 'join', 'sink', joinAuto], sink], {
      msg: { payload: [1, 2, 3] },
      delivered: 1,
    }),
    {
      name: 'a join of two records before a sink that fails',
      nodes: [['a', 'join', 'sink', joinCount(2)], failing],
      verdicts: ['failed', 'failed'],
    },
    one('a join that never completes', 'unknown', toSink('join', joinCount(2)), { timeoutMs: 300 }),
    {
      name: 'a batch of two records before a sink that fails',
      nodes: [['a', 'batch', 'sink', batchCount(2)], failing],
      verdicts: ['failed', 'failed'],
    },
    {
      name: 'a batch by interval',
      nodes: [['a', 'batch', 'sink', batchInterval(1)], sink],
      verdicts: ['done', 'done'],
      delivered: 2,
    },
    one('a delay', 'done', toSink('delay', delay(300)), { delivered: 1 }),
    {
      name: 'a rate limit that queues',
      nodes: toSink('delay', rateLimit(4)),
      verdicts: ['done', 'done', 'done'],
      delivered: 3,
    },
    {
      name: 'a rate limit that drops',
      nodes: toSink('delay', rateLimit(1, true)),
      verdicts: ['done', 'done', 'done'],
    },
    one('a trigger with a second message', 'unknown', toSink('trigger', trigger)),
    one('the same trigger, trusted,', 'done', toSink('trigger', trigger), { trusted: true, late: 1 }),
    one('a trigger without a second message', 'done', toSink('trigger', { ...trigger, op2type: 'nul' }), {
      delivered: 1,
    }),
    {
      name: 'a filter that blocks the second record',
      nodes: toSink('rbe', rbe),
      verdicts: ['done', 'done'],
      delivered: 1,
    },
    one('a template', 'done', toSink('template', template), { delivered: 1 }),
    one('json that cannot be parsed', 'failed', toSink('json', json), { msg: { payload: '{bad' } }),
    one('exec', 'done', toSink('exec', exec('sleep 0.1; echo hi'), [['sink'], [], []]), { delivered: 1 }),
    one('exec that ends with 1', 'done', toSink('exec', exec('false'), [['sink'], [], []])),
    one('exec that spawns', 'done', toSink('exec', exec('echo hi', true), [['sink'], [], ['sink']])),
    one('a file', 'done', toSink('file', file('FOLDER/out.txt')), { delivered: 1 }),
    one('a file that cannot be written', 'failed', toSink('file', file('/nonexistent/dir/out.txt'))),
    one('an http request', 'done', toSink('http request', httpRequest('URL/ok')), { delivered: 1 }),
    one('an http request answered 500', 'done', toSink('http request', httpRequest('URL/500')), {
      delivered: 1,
    }),
    one('an http request refused', 'failed', toSink('http request', httpRequest('http://127.0.0.1:1/'))),
    one('link out and link in', 'done', [
      ['a', 'link out', '', { mode: 'link', links: ['@.in'] }],
      ['in', 'link in', 'sink', { links: ['@.a'] }],
      sink,
    ]),
    one(
      'a link call that returns',
      'done',
      [
        ['a', 'link call', 'sink', linkCall('@.in', 2)],
        ['in', 'link in', 'd', { links: [] }],
        ['d', 'delay', 'out', delay(100)],
        ['out', 'link out', '', { mode: 'return', links: [] }],
        sink,
      ],
      { delivered: 1 },
    ),
    one('a link call that never returns', 'failed', [
      ['a', 'link call', 'sink', linkCall('@.in', 1)],
      ['in', 'link in', [[]], { links: [] }],
      sink,
    ]),
    one('a subflow', 'done', toSink('subflow:slow', { env: [] }), { delivered: 1 }),
    one('an error inside a subflow', 'failed', toSink('subflow:slow', { env: [] }), {
      msg: { payload: 'fail' },
    }),
    one('a packaged subflow', 'done', toSink('packaged-slow', {}), { delivered: 1 }),
    one('an error inside a packaged subflow', 'failed', toSink('packaged-slow', {}), {
      msg: { payload: 'fail' },
    }),
    one('a junction', 'done', toSink('junction', {}), { delivered: 1 }),
    one(
      'a caught error',
      'failed',
      [
        ['a', 'function', [[]], func('throw new Error("x")')],
        ['c', 'catch', 'sink', { scope: null, uncaught: false }],
        ['sink', 't-sink', '', { ms: 100 }],
      ],
      { delivered: 1 },
    ),
    one(
      'a complete node before a slow sink',
      'done',
      [
        ['a', 'function', [[]], func('return msg')],
        ['c', 'complete', 'sink', { scope: ['@.a'], uncaught: false }],
        ['sink', 't-sink', '', { ms: 100 }],
      ],
      { delivered: 1 },
    ),
    one('a legacy node that passes on at once', 'unknown', toSink('t-legacy-sync', {})),
    one('a legacy node that sends later', 'unknown', toSink('t-legacy-async', {})),
    one('a legacy node that fails later', 'unknown', toSink('t-legacy-error', {})),
    one('a node that never calls done', 'unknown', toSink('t-never', {}), { timeoutMs: 300 }),
    one('a handler that throws', 'failed', toSink('t-throw', {})),
    one('an async handler that rejects', 'unknown', toSink('t-reject', {}), { timeoutMs: 300 }),
    one('error() without the message, then done()', 'failed', toSink('t-error-without-msg', {})),
    one('a brand-new message before a sink that fails', 'failed', [
      ['a', 't-new-message', 'sink'],
      ['sink', 't-sink', '', { fail: 'plain', ms: 60 }],
    ]),
    one(
      'a loop of three rounds',
      'done',
      toSink('function', func('msg.n = (msg.n || 0) + 1; return msg.n < 3 ? [msg, null] : [null, msg]', 2), [
        ['a'],
        ['sink'],
      ]),
      { delivered: 1 },
    ),
  ];
}
