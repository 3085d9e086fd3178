import { describe, expect, it } from 'vitest';
import { readConfig } from '#lib/config/read-config';
import { ConfigError } from '#lib/errors/errors';
import * as ingest from '#nodes/ingest-api/ingest-api.config';
import * as queue from '#nodes/push-queue/push-queue.config';
import * as webhook from '#nodes/signed-webhook/signed-webhook.config';

const readQueue = (saved: object) => readConfig(queue.fields, saved, queue.problemsOf);
const readWebhook = (saved: object) => readConfig(webhook.fields, saved, webhook.problemsOf);
const readIngest = (saved: object) => readConfig(ingest.fields, saved, ingest.problemsOf);

describe('push-queue', () => {
  it('O5 O6 O7 O8 starts durable, with a quota of 2000 MB, evicting the oldest', () => {
    expect(readQueue({})).toMatchObject({
      queue: 'push',
      enabled: true,
      maxQuotaMb: 2000,
      onFull: 'evict_oldest',
    });
  });

  it('O12 refuses block without a durable queue, naming the property and the reason', () => {
    expect(() => readQueue({ onFull: 'block', enabled: false })).toThrow(/^onFull "block" needs enabled/);
  });

  it.each([0, '0'])('O12 refuses block with a quota of %j', (maxQuotaMb) => {
    expect(() => readQueue({ onFull: 'block', maxQuotaMb })).toThrow(/^maxQuotaMb must be more than 0/);
  });

  it('O12 accepts block with a quota, and evict_oldest in memory', () => {
    expect(readQueue({ onFull: 'block', maxQuotaMb: '0.5' }).maxQuotaMb).toBe(0.5);
    expect(readQueue({ onFull: 'evict_oldest', enabled: false }).enabled).toBe(false);
  });

  it.each(['../x', 'a/b', 'a b', '.', '..', '.hidden', 'x'.repeat(65)])(
    'keeps the file in its directory: refuses the queue name %j',
    (name) => {
      expect(() => readQueue({ queue: name })).toThrow(ConfigError);
    },
  );

  it('refuses a longest pause below the first', () => {
    expect(() => readQueue({ retryInitialMs: 5000, retryMaxMs: 100 })).toThrow(/^retryMaxMs/);
  });
});

describe('signed-webhook', () => {
  it('O33 answers with the real verdict unless told otherwise', () => {
    expect(readWebhook({ hook: 'orders' })).toMatchObject({
      scheme: 'standard',
      toleranceSecs: 300,
      respond: 'on_done',
      acceptWhileFull: false,
      doneTimeoutSecs: 25,
      maxBodyKb: 1024,
      maxInFlight: 1000,
      inboxRetries: 0,
      codec: 'json',
      dedupeHours: 24,
      template: '{body}',
    });
  });

  it('O20 needs a hook', () => {
    expect(() => readWebhook({})).toThrow('hook is required');
  });

  it.each(['a/b', 'a b', '..', '.', 'a?b', 'a%2Fb', 'über'])('O20 refuses the hook %j', (hook) => {
    expect(() => readWebhook({ hook })).toThrow(ConfigError);
  });

  it('needs a signature header with the generic scheme only', () => {
    expect(readWebhook({ hook: 'a', scheme: 'github' }).header).toBe('');
    expect(() => readWebhook({ hook: 'a', scheme: 'generic' })).toThrow(/^header is required/);
    expect(readWebhook({ hook: 'a', scheme: 'generic', header: 'X-Signature' }).header).toBe('X-Signature');
  });

  it('refuses a template that leaves the body unsigned, or a timestamp without its header', () => {
    const generic = { hook: 'a', scheme: 'generic', header: 'X-Signature' };
    expect(() => readWebhook({ ...generic, template: '{timestamp}' })).toThrow(/^template must contain/);
    expect(() => readWebhook({ ...generic, template: '{timestamp}.{body}' })).toThrow(/^timestampHeader/);
    expect(
      readWebhook({ ...generic, template: '{timestamp}.{body}', timestampHeader: 'X-Time' }).template,
    ).toBe('{timestamp}.{body}');
  });

  it('N9 refuses acceptWhileFull without the inbox', () => {
    expect(() => readWebhook({ hook: 'a', acceptWhileFull: true })).toThrow(/^acceptWhileFull/);
    expect(readWebhook({ hook: 'a', acceptWhileFull: true, respond: 'on_receipt' }).acceptWhileFull).toBe(
      true,
    );
  });

  it('has its secrets among the credentials, never among the properties', () => {
    expect(Object.keys(webhook.credentials)).toEqual(['secret', 'previousSecret']);
    for (const name of Object.keys(webhook.credentials)) expect(webhook.fields).not.toHaveProperty(name);
  });
});

describe('ingest-api', () => {
  it('O24 needs a source that is one path segment', () => {
    expect(readIngest({ source: 'plant-1' }).source).toBe('plant-1');
    expect(() => readIngest({})).toThrow('source is required');
    expect(() => readIngest({ source: 'a/b' })).toThrow(ConfigError);
  });
});
