import { describe, expect, it } from 'vitest';
import { ConfigError } from '#lib/errors/errors';
import type { SchemeConfig } from '#lib/webhook/contract';
import { sign } from '#lib/webhook/sign';
import { slackChallenge } from '#lib/webhook/slack-challenge';
import { makeVerifier } from '#lib/webhook/verifier';

const NOW = 1_790_000_000;
const bytes = (text: string) => Buffer.from(text);

function verified(config: SchemeConfig, body: Buffer, drop: readonly string[] = []) {
  const headers = Object.entries(sign(config, { body, id: 'msg_7', nowSecs: NOW }));
  const rawHeaders = headers.filter(([name]) => !drop.includes(name)).flat();
  return makeVerifier(config).verify({ rawHeaders, body, nowSecs: NOW });
}

function codeOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof ConfigError) return error.code;
    throw error;
  }
  return 'none';
}

describe('the id of a verified request', () => {
  it.each<SchemeConfig>([
    { scheme: 'standard', secret: 'c2VjcmV0' },
    { scheme: 'github', secret: 's' },
    { scheme: 'shopify', secret: 's' },
    { scheme: 'generic', secret: 's', header: 'x-sig', idHeader: 'x-id' },
  ])('comes in a header: $scheme', (config) => {
    expect(verified(config, bytes('{}'))).toMatchObject({ id: 'msg_7', idFrom: 'sender' });
  });

  it('is the id in the body of a Stripe event, and event_id in that of a Slack event', () => {
    const stripe: SchemeConfig = { scheme: 'stripe', secret: 's' };
    const slack: SchemeConfig = { scheme: 'slack', secret: 's' };
    expect(verified(stripe, bytes('{"id":"evt_1"}'))).toEqual({
      id: 'evt_1',
      idFrom: 'sender',
      timestampSecs: NOW,
    });
    expect(verified(slack, bytes('{"event_id":"Ev1"}')).id).toBe('Ev1');
  });

  it.each([
    'payload=1',
    '',
    'null',
    '[]',
    '{"id":7}',
    '{"id":""}',
    '{"id":',
    '\xff',
    '{"__proto__":{"id":"evt_1"}}',
  ])('is made of signature and timestamp where the body has none: %j', (body) => {
    const { id, idFrom } = verified({ scheme: 'stripe', secret: 's' }, Buffer.from(body, 'latin1'));
    expect(idFrom).toBe('signature');
    expect(id).toMatch(new RegExp(`^sig:[\\w-]{43}:${NOW}$`));
  });

  it('is made of the signature where a sender leaves its id header out', () => {
    const github: SchemeConfig = { scheme: 'github', secret: 's' };
    const first = verified(github, bytes('a'), ['x-github-delivery']);
    expect(first.idFrom).toBe('signature');
    expect(verified(github, bytes('a'), ['x-github-delivery'])).toEqual(first);
    expect(verified(github, bytes('b'), ['x-github-delivery']).id).not.toBe(first.id);
  });
});

describe('a configuration that cannot work', () => {
  it.each<[string, string, SchemeConfig]>([
    ['no secret', 'SECRET_MISSING', { scheme: 'github', secret: undefined }],
    ['a blank secret', 'SECRET_MISSING', { scheme: 'github', secret: ' \n' }],
    ['only a previous secret', 'SECRET_MISSING', { scheme: 'github', secret: '', previousSecret: 'old' }],
    ['a blank previous secret', 'SECRET_MISSING', { scheme: 'github', secret: 's', previousSecret: ' ' }],
    ['whsec_ and nothing', 'SECRET_MALFORMED', { scheme: 'standard', secret: 'whsec_' }],
    ['base64url', 'SECRET_MALFORMED', { scheme: 'standard', secret: 'whsec_ab-_' }],
    ['odd hex', 'SECRET_MALFORMED', { scheme: 'generic', secret: 'abc', secretEncoding: 'hex', header: 'h' }],
    ['an unknown scheme', 'SCHEME_INVALID', { scheme: 'toString' as 'generic', secret: 's' }],
    ['no header', 'SCHEME_INVALID', { scheme: 'generic', secret: 's' }],
    ['a header that is none', 'SCHEME_INVALID', { scheme: 'generic', secret: 's', header: 'x y' }],
    ['an unsigned body', 'SCHEME_INVALID', { scheme: 'generic', secret: 's', header: 'h', template: '{id}' }],
    ['a typo', 'SCHEME_INVALID', { scheme: 'generic', secret: 's', header: 'h', template: '{body}{time}' }],
    [
      'a timestamp without header',
      'SCHEME_INVALID',
      { scheme: 'generic', secret: 's', header: 'h', template: '{timestamp}{body}' },
    ],
    [
      'a timestamp that is not signed',
      'SCHEME_INVALID',
      { scheme: 'generic', secret: 's', header: 'h', timestampHeader: 't' },
    ],
    [
      'an id that runs into the body',
      'SCHEME_INVALID',
      { scheme: 'generic', secret: 's', header: 'h', idHeader: 'i', template: '{id}{body}' },
    ],
  ])('is refused at start: %s', (_, condition, config) => {
    expect(codeOf(() => makeVerifier(config))).toBe(`ERR_SLUICE_WEBHOOK_${condition}`);
  });

  it('is refused at start: a negative tolerance', () => {
    const config: SchemeConfig = { scheme: 'slack', secret: 's', toleranceSecs: -1 };
    expect(codeOf(() => makeVerifier(config))).toBe('ERR_SLUICE_CONFIG_INVALID');
  });
});

describe("Slack's handshake", () => {
  it('is answered with the challenge', () => {
    expect(slackChallenge(bytes('{"type":"url_verification","challenge":"abc"}'))).toBe('abc');
  });

  it.each(['{"type":"event_callback","challenge":"abc"}', '{"type":"url_verification"}', 'x', 'null', ''])(
    'is nothing else: %j',
    (body) => {
      expect(slackChallenge(bytes(body))).toBeUndefined();
    },
  );
});
