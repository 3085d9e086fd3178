import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SCHEME_NAMES, type SchemeConfig, type SchemeName } from '#lib/webhook/contract';
import { sign } from '#lib/webhook/sign';
import { SignatureError } from '#lib/webhook/signature-error';
import { makeVerifier } from '#lib/webhook/verifier';

const NOW = 1_790_000_000;
const TOLERANCE = 300;

const configs: Record<SchemeName, SchemeConfig> = {
  standard: { scheme: 'standard', secret: 'whsec_bmV3LWtleS0wMTIzNDU2Nzg5YWJjZGVmZ2hpag==' },
  github: { scheme: 'github', secret: 'a text secret' },
  stripe: { scheme: 'stripe', secret: 'whsec_taken_as_text' },
  slack: { scheme: 'slack', secret: '8f742231b10e8888abcd99yyyzzz85a5' },
  shopify: { scheme: 'shopify', secret: 'shpss_1' },
  generic: {
    scheme: 'generic',
    secret: 'c2VjcmV0',
    secretEncoding: 'base64',
    header: 'X-Signature',
    algorithm: 'sha512',
    encoding: 'base64',
    prefix: 'mac ',
    template: 'v2|{id}|{timestamp}|{body}|end',
    timestampHeader: 'X-Time',
    timestampUnit: 'ms',
    idHeader: 'X-Id',
  },
};

/** Headers whose every character is covered by the signature, or is the signature. */
const signedHeaders: Record<SchemeName, readonly string[]> = {
  standard: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  github: ['x-hub-signature-256'],
  stripe: ['stripe-signature'],
  slack: ['x-slack-request-timestamp', 'x-slack-signature'],
  shopify: ['x-shopify-hmac-sha256'],
  generic: ['x-id', 'x-time', 'x-signature'],
};

const body = fc.uint8Array({ maxLength: 300 });
const someId = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/);
const scheme = fc.constantFrom(...SCHEME_NAMES);

function reasonOf(
  config: SchemeConfig,
  headers: Readonly<Record<string, string>>,
  bytes: Uint8Array,
  now = NOW,
) {
  try {
    makeVerifier(config).verify({ rawHeaders: Object.entries(headers).flat(), body: bytes, nowSecs: now });
    return 'signature_ok';
  } catch (error) {
    if (error instanceof SignatureError) return error.reason;
    throw error;
  }
}

function flipBit(text: string, at: number, bit: number): string {
  const code = text.charCodeAt(at) ^ (1 << bit);
  return text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
}

describe('signatures', () => {
  it('accepts what its own signer signed, whatever the body', () => {
    fc.assert(
      fc.property(scheme, body, someId, (name, bytes, id) => {
        const headers = sign(configs[name], { body: bytes, id, nowSecs: NOW });
        expect(reasonOf(configs[name], headers, bytes)).toBe('signature_ok');
      }),
    );
  });

  it('accepts the previous secret during a rotation, and no third one', () => {
    fc.assert(
      fc.property(scheme, body, (name, bytes) => {
        const headers = sign(configs[name], { body: bytes, id: 'id', nowSecs: NOW });
        const next = { ...configs[name], secret: 'whsec_b2xkLWtleS0wMTIz' };
        if (name === 'generic') next.secret = 'b3RoZXI=';
        expect(reasonOf({ ...next, previousSecret: configs[name].secret }, headers, bytes)).toBe(
          'signature_ok',
        );
        expect(reasonOf(next, headers, bytes)).toBe('bad_signature');
      }),
    );
  });

  it('refuses a body in which one bit changed', () => {
    fc.assert(
      fc.property(scheme, fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.nat(), (name, bytes, bit) => {
        const headers = sign(configs[name], { body: bytes, id: 'id', nowSecs: NOW });
        const changed = Uint8Array.from(bytes);
        const at = (bit >> 3) % changed.length;
        changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7));
        expect(reasonOf(configs[name], headers, changed)).toBe('bad_signature');
      }),
    );
  });

  it('refuses a signature, timestamp or id in which one bit changed', () => {
    fc.assert(
      fc.property(
        scheme,
        body,
        someId,
        fc.nat(),
        fc.nat(),
        fc.nat(7),
        (name, bytes, id, which, place, bit) => {
          const headers = sign(configs[name], { body: bytes, id, nowSecs: NOW });
          const names = signedHeaders[name];
          const header = names[which % names.length] as string;
          const value = headers[header] as string;
          const changed = flipBit(value, place % value.length, bit);
          // The case of a hex digit says nothing.
          const onlyHexCase = changed.toLowerCase() === value && /sha256|^v0|^t=/.test(value);
          fc.pre(!onlyHexCase);
          expect(reasonOf(configs[name], { ...headers, [header]: changed }, bytes)).not.toBe('signature_ok');
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('allows the tolerance in both directions, its bound included, and not a second more', () => {
    const timestamped = fc.constantFrom<SchemeName>('standard', 'stripe', 'slack', 'generic');
    fc.assert(
      fc.property(timestamped, fc.integer({ min: -1000, max: 1000 }), (name, age) => {
        const bytes = Buffer.from('x');
        const headers = sign(configs[name], { body: bytes, id: 'id', nowSecs: NOW - age });
        const expected = Math.abs(age) <= TOLERANCE ? 'signature_ok' : 'stale_timestamp';
        expect(reasonOf(configs[name], headers, bytes)).toBe(expected);
      }),
    );
  });

  it('answers any headers at all with a refusal, never another error', () => {
    const header = fc.tuple(
      fc.constantFrom(...Object.values(signedHeaders).flat(), 'x-other'),
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.stringMatching(/^(v1,|v0=|sha256=|t=)?[0-9a-f,=v1 ]{0,80}$/),
        fc.constant(String(NOW)),
      ),
    );
    fc.assert(
      fc.property(scheme, fc.array(header, { maxLength: 8 }), body, (name, headers, bytes) => {
        const verifier = makeVerifier(configs[name]);
        expect(() => verifier.verify({ rawHeaders: headers.flat(), body: bytes, nowSecs: NOW })).toThrow(
          SignatureError,
        );
      }),
      { numRuns: 500 },
    );
  });
});
