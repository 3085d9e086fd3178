import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { post } from '../harness/http';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';

interface WebhookCase {
  readonly id: string;
  readonly latitude: 'strict' | 'either';
  readonly title: string;
  readonly input: {
    readonly config: Record<string, unknown> & { preset: string; secrets: string[]; maxBodyBytes?: number };
    readonly now: number;
    readonly request: {
      headers: [string, string][];
      bodyBase64?: string;
      bodyGenerator?: string;
    };
  };
  readonly expect: { readonly verdict: 'accept' | 'reject'; readonly reason: string };
}

const FILES = ['standard', 'github', 'stripe', 'slack', 'shopify', 'generic'];
const cases = FILES.flatMap((file) => {
  const path = join(import.meta.dirname, `../cases/webhook-${file}.json`);
  return (JSON.parse(readFileSync(path, 'utf8')) as { cases: WebhookCase[] }).cases;
});

const hookOf = (id: string) => id.toLowerCase();

function nodeFor({ id, input }: WebhookCase): FlowNode {
  const { preset, secrets, maxBodyBytes, ...properties } = input.config;
  const [secret = '', previousSecret = ''] = secrets;
  return {
    id,
    type: 'signed-webhook',
    z: 'tab',
    ...properties,
    hook: hookOf(id),
    scheme: preset === 'standard-webhooks' ? 'standard' : preset,
    codec: 'buffer',
    ...(maxBodyBytes !== undefined && { maxBodyKb: maxBodyBytes / 1024 }),
    credentials: { secret, previousSecret },
    wires: [['sink']],
  };
}

function bodyOf({ request }: WebhookCase['input']): Buffer {
  if (request.bodyBase64 !== undefined) return Buffer.from(request.bodyBase64, 'base64');
  const [, size, byte] = /Buffer\.alloc\((\d+), (0x[0-9a-f]+)\)/.exec(request.bodyGenerator ?? '') ?? [];
  return Buffer.alloc(Number(size), Number(byte));
}

describe('webhook cases over HTTP in Node-RED', () => {
  let nodeRed: RunningNodeRed;

  beforeAll(async () => {
    nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
    await nodeRed.deploy([tab(), probe('sink'), ...cases.map(nodeFor)]);
  });
  afterAll(async () => {
    vi.useRealTimers();
    await nodeRed.stop();
  });

  it.each(cases)('$id $title', async (webhookCase) => {
    const { id, input, latitude } = webhookCase;
    vi.useFakeTimers({ toFake: ['Date'], now: input.now * 1000 });
    const sink = nodeRed.node<ProbeSink>('sink');
    const before = sink.received.length;
    const answer = await post(`${nodeRed.url}/api/hooks/${hookOf(id)}`, bodyOf(input), {
      rawHeaders: input.request.headers.flat(),
    });
    const messages = sink.received.length - before;
    if (answer.status === 200) {
      expect(messages).toBe(1);
      expect(sink.received.at(-1)?.payload).toEqual(bodyOf(input));
    } else {
      expect(messages).toBe(0);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
    if (latitude !== 'strict') return;
    const { verdict, reason } = webhookCase.expect;
    // A webhook whose secret can't work doesn't start: its path is unknown.
    const refused = { too_large: 413, config_error: 404 }[reason] ?? 401;
    expect(answer.status).toBe(verdict === 'accept' ? 200 : refused);
  });
});
