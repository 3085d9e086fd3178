import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { SchemeConfig } from '#lib/webhook/contract';
import { post } from '../harness/http';
import { startNodeRed, type FlowNode, type RunningNodeRed } from '../harness/node-red';
import { probe, probeNodes, tab, type ProbeSink } from '../harness/probe';

interface WebhookCase {
  readonly id: string;
  readonly kind: string;
  readonly latitude: string;
  readonly config: SchemeConfig;
  readonly now: number;
  readonly maxBodyKb?: number;
  readonly request: {
    readonly headers: readonly (readonly [string, string])[];
    readonly bodyBase64?: string;
    readonly bodyRepeat?: { readonly bytes: number; readonly byte: number };
  };
  readonly expect: { readonly verdict: string; readonly reason: string };
}

const cases = ['standard', 'github', 'stripe', 'slack', 'shopify', 'generic'].flatMap((file) => {
  const path = join(import.meta.dirname, `../cases/webhook-${file}.json`);
  return JSON.parse(readFileSync(path, 'utf8')) as WebhookCase[];
});

const hookOf = (id: string) => id.toLowerCase();

function nodeFor({
  id,
  config: { secret, previousSecret, ...config },
  maxBodyKb = 1024,
}: WebhookCase): FlowNode {
  const credentials = { secret: secret ?? '', previousSecret: previousSecret ?? '' };
  const properties = { ...config, hook: hookOf(id), codec: 'buffer', maxBodyKb, credentials };
  return { id, type: 'signed-webhook', z: 'tab', ...properties, wires: [['sink']] };
}

function bodyOf({ request: { bodyBase64, bodyRepeat } }: WebhookCase): Buffer {
  if (bodyRepeat) return Buffer.alloc(bodyRepeat.bytes, bodyRepeat.byte);
  return Buffer.from(bodyBase64 ?? '', 'base64');
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

  it.each(cases)('$id $kind', async (webhookCase) => {
    const { id, now, request, latitude } = webhookCase;
    vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 });
    const sink = nodeRed.node<ProbeSink>('sink');
    const before = sink.received.length;
    const answer = await post(`${nodeRed.url}/api/hooks/${hookOf(id)}`, bodyOf(webhookCase), {
      rawHeaders: request.headers.flat(),
    });
    const messages = sink.received.length - before;
    if (answer.status === 200) {
      expect(messages).toBe(1);
      expect(sink.received.at(-1)?.payload).toEqual(bodyOf(webhookCase));
    } else {
      expect(messages).toBe(0);
      // Without a secret the webhook doesn't start, and its senders are asked to come back.
      const notStarted = webhookCase.expect.reason === 'config_error' && answer.status === 503;
      expect(notStarted || (answer.status >= 400 && answer.status < 500), String(answer.status)).toBe(true);
    }
    if (latitude !== 'strict') return;
    const { verdict, reason } = webhookCase.expect;
    const refused = { too_large: 413, config_error: 503 }[reason] ?? 401;
    expect(answer.status).toBe(verdict === 'accept' ? 200 : refused);
  });
});
