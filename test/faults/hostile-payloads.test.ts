import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { functionNode, probe, probeNodes, tab, type ProbeSink } from '../harness/probe';
import { queue } from '../harness/queue';
import { waitFor } from '../harness/wait';
import { callHook, webhook } from '../harness/webhook';

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** JSON texts that are awkward to keep. */
const PAYLOADS: readonly (readonly [string, string])[] = [
  ['NUL and control characters', '{"a\\u0000b":"\\u0000\\u0001\\u001f\\u2028"}'],
  ['a lone surrogate in a value and in a key', '{"a":"x\\ud800y","\\udc00":1}'],
  [
    '__proto__, constructor and prototype',
    '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}}}',
  ],
  ['__proto__ as a list', '{"__proto__":[1,2],"toString":"no"}'],
  ['keys that look like our own tags', '{"$s:date":1,"$s:":{"$s:bytes":["Buffer","AAAA"]},"$s:=":2}'],
  ['512 levels', deep(512)],
  ['a lone string', '"text"'],
  ['null', 'null'],
  ['an empty key', '{"":{"":[]}}'],
  ['numbers at their limits', '[9007199254740993,-0,1e308,5e-324,1e999]'],
  [
    '100,000 keys',
    JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n]))),
  ],
];

/** Numbers that JavaScript can't hold come out as text, digit by digit; all else as JSON.parse has it. */
const expectedOf = (body: string) =>
  body.includes('9007199254740993')
    ? '["9007199254740993",0,1e+308,5e-324,"1e999"]'
    : JSON.stringify(JSON.parse(body));

describe('awkward payloads', () => {
  let nodeRed: RunningNodeRed;
  let calls = 0;
  const sink = () => nodeRed.node<ProbeSink>('sink');
  const deploy = (respond: 'on_done' | 'on_receipt') =>
    nodeRed.deploy([
      tab(),
      webhook('w', { hook: respond, respond, maxBodyKb: 4096, keepRaw: true, wires: [['f']] }),
      functionNode('f', 'return msg;', [['queue']]),
      queue('queue', { queue: respond, maxQuotaMb: 50, wires: [['sink'], []] }),
      probe('sink'),
    ]);
  const arrived = async (body: string, hook: string) => {
    const before = sink().received.length;
    const id = `awkward-${(calls += 1)}`;
    // Until its queue is open again after the deploy, it is told to come back.
    await waitFor('200', async () => (await callHook(nodeRed, hook, body, { id })).status === 200);
    await waitFor('the record behind the queue', () => sink().received.length === before + 1);
    return sink().received[before];
  };

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  });
  afterAll(() => nodeRed.stop());

  for (const respond of ['on_done', 'on_receipt'] as const) {
    it.each(PAYLOADS)(`come out of ${respond} and a queue as they went in: %s`, async (_, body) => {
      await deploy(respond);
      const msg = await arrived(body, respond);
      // As text: what is compared must keep `__proto__` as a key and -0 as it is.
      expect(JSON.stringify(msg?.payload)).toBe(expectedOf(body));
      expect(Buffer.compare(msg?.['raw'] as Buffer, Buffer.from(body))).toBe(0);
      expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
    });
  }

  it('a query of __proto__ is a query like any other', async () => {
    await deploy('on_done');
    const msg = await arrived('{}', 'on_done?__proto__=x&a=1&a=2&%00=%ff');
    const query = msg?.['query'] as object;
    expect(Object.getOwnPropertyNames(query)).toContain('__proto__');
    expect(query).toMatchObject({ a: '2' });
  });
});
