import { describe, expect, it } from 'vitest';
import { failureClassOf } from '#lib/errors/errors';
import { successTest } from '#nodes/rest-sink/rest-sink.config';
import { classifyAnswer, classifyFault } from '#nodes/rest-sink/rest-sink.errors';

const origin = 'https://api.example';
const kept = {
  method: 'POST',
  pathname: '/orders',
  origin,
  isSuccess: successTest('2xx'),
  clientErrors: 'kept',
} as const;
const answer = (statusCode: number, headers: Record<string, string> = {}) => ({
  statusCode,
  headers,
  body: '',
});

describe('classifyAnswer', () => {
  it.each([200, 201, 202, 204, 226, 299])('%i confirms the record', (status) => {
    expect(classifyAnswer(answer(status), kept, 0)).toBeUndefined();
  });

  it.each([
    [300, 'config', 'ERR_SLUICE_REST_REDIRECTED'],
    [301, 'config', 'ERR_SLUICE_REST_REDIRECTED'],
    [302, 'config', 'ERR_SLUICE_REST_REDIRECTED'],
    [304, 'config', 'ERR_SLUICE_REST_REDIRECTED'],
    [307, 'config', 'ERR_SLUICE_REST_REDIRECTED'],
    [308, 'config', 'ERR_SLUICE_REST_REDIRECTED'],
    [400, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [401, 'config', 'ERR_SLUICE_REST_UNAUTHORIZED'],
    [402, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [403, 'config', 'ERR_SLUICE_REST_UNAUTHORIZED'],
    [404, 'config', 'ERR_SLUICE_REST_NOT_FOUND'],
    [405, 'config', 'ERR_SLUICE_REST_NOT_FOUND'],
    [406, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [407, 'config', 'ERR_SLUICE_REST_UNAUTHORIZED'],
    [408, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [409, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [410, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [413, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [415, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [422, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [425, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [429, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [451, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [499, 'permanent', 'ERR_SLUICE_REST_REJECTED'],
    [500, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [501, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [502, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [503, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [504, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [599, 'transient', 'ERR_SLUICE_REST_BUSY'],
    [600, 'transient', 'ERR_SLUICE_REST_UNEXPECTED'],
  ])('%i is %s (%s)', (status, failure, code) => {
    const error = classifyAnswer(answer(status), kept, 0);
    expect(error).toMatchObject({ failure, code });
    const path = status === 404 || status === 405 ? '/orders' : '';
    expect(error?.message).toContain(`${origin}${path} answered ${status}`);
  });

  it.each([400, 401, 403, 404, 405, 407, 408, 422, 425, 429])(
    'R7 %i is permanent where all client errors are',
    (status) => {
      const error = classifyAnswer(answer(status), { ...kept, clientErrors: 'permanent' }, 0);
      expect(failureClassOf(error)).toBe('permanent');
    },
  );

  it.each([301, 500])('R7 %i keeps its class where all client errors are permanent', (status) => {
    const error = classifyAnswer(answer(status), { ...kept, clientErrors: 'permanent' }, 0);
    expect(failureClassOf(error)).not.toBe('permanent');
  });

  it('shows method and path of an address that is not known', () => {
    expect(classifyAnswer(answer(404), kept, 0)?.message).toBe(
      'POST https://api.example/orders answered 404: check URL and method; the origin keeps the record',
    );
  });

  it('takes exactly the listed codes as delivered', () => {
    const listed = { ...kept, isSuccess: successTest('200, 409') };
    expect(classifyAnswer(answer(409), listed, 0)).toBeUndefined();
    expect(classifyAnswer(answer(202), listed, 0)).toMatchObject({
      failure: 'transient',
      code: 'ERR_SLUICE_REST_UNEXPECTED',
    });
  });

  it('passes on how long the destination asked to wait', () => {
    expect(classifyAnswer(answer(429, { 'retry-after': '7' }), kept, 0)?.retryAfterMs).toBe(7000);
    expect(classifyAnswer(answer(429), kept, 0)?.retryAfterMs).toBeUndefined();
  });
});

describe('classifyFault', () => {
  const fault = (code: string, cause?: Error) => Object.assign(new Error('x', { cause }), { code });
  it.each([
    ['ECONNREFUSED', 'transient', 'ERR_SLUICE_REST_UNREACHABLE'],
    ['ECONNRESET', 'transient', 'ERR_SLUICE_REST_UNREACHABLE'],
    ['ENOTFOUND', 'transient', 'ERR_SLUICE_REST_UNREACHABLE'],
    ['EAI_AGAIN', 'transient', 'ERR_SLUICE_REST_UNREACHABLE'],
    ['UND_ERR_SOCKET', 'transient', 'ERR_SLUICE_REST_UNREACHABLE'],
    ['HPE_INVALID_CONSTANT', 'transient', 'ERR_SLUICE_REST_UNREACHABLE'],
    ['UND_ERR_CONNECT_TIMEOUT', 'transient', 'ERR_SLUICE_REST_TIMEOUT'],
    ['ETIMEDOUT', 'transient', 'ERR_SLUICE_REST_TIMEOUT'],
    ['CERT_HAS_EXPIRED', 'config', 'ERR_SLUICE_REST_TLS'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'config', 'ERR_SLUICE_REST_TLS'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'config', 'ERR_SLUICE_REST_TLS'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'config', 'ERR_SLUICE_REST_TLS'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'config', 'ERR_SLUICE_REST_TLS'],
    ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'transient', 'ERR_SLUICE_REST_UNREACHABLE'],
  ])('%s is %s (%s)', (code, failure, expected) => {
    expect(classifyFault(fault(code), origin)).toMatchObject({ failure, code: expected });
  });

  it('finds the code in the cause', () => {
    const nested = new Error('outer', { cause: fault('CERT_HAS_EXPIRED') });
    expect(classifyFault(nested, origin).failure).toBe('config');
  });

  it('keeps a record that met something unknown', () => {
    expect(classifyFault('boom', origin)).toMatchObject({
      failure: 'transient',
      code: 'ERR_SLUICE_REST_UNREACHABLE',
    });
  });
});
