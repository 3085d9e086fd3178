import { describe, expect, it } from 'vitest';
import { classify, stateOf, type InsertPhase } from '#nodes/postgres-sink/postgres-sink.errors';

/** An error as the server answers with it, by way of the driver. */
const answer = (code: string, properties: object = {}) =>
  Object.assign(new Error('what the server said'), { code, severity: 'ERROR', ...properties });
const nodeError = (code: string) => Object.assign(new Error('what Node said'), { code });
const kindOf = (error: unknown, phase: InsertPhase = 'storing') => classify(error, phase).kind;

describe('errors of a PostgreSQL server', () => {
  it.each([
    ['22P02', 'data'],
    ['23505', 'data'],
    ['21000', 'data'],
    ['54000', 'data'],
    ['08P01', 'data'],
    ['P0002', 'data'],
    ['38000', 'data'],
    ['45000', 'data'],
    ['TR001', 'data'],
    ['28P01', 'config'],
    ['3D000', 'config'],
    ['42P01', 'config'],
    ['42703', 'config'],
    ['42501', 'config'],
    ['25006', 'config'],
    ['0A000', 'config'],
    ['40001', 'transient'],
    ['53100', 'transient'],
    ['55P03', 'transient'],
    ['57014', 'transient'],
    ['58030', 'transient'],
    ['XX000', 'transient'],
    ['72000', 'data'],
    ['HV00N', 'transient'],
    ['F0000', 'transient'],
  ])('N2 takes %s for %s', (state, kind) => expect(kindOf(answer(state))).toBe(kind));

  it('never blames a record for what ended the connection: poolers answer with 08P01 whatever is wrong', () => {
    expect(kindOf(answer('08P01', { severity: 'FATAL' }))).toBe('transient');
    expect(kindOf(answer('08P01'), 'connecting')).toBe('transient');
    expect(kindOf(answer('22023', { severity: 'FATAL' }), 'connecting')).toBe('transient');
  });

  it('blames the record that a row-level policy refuses, and the grants where nothing may be written', () => {
    expect(kindOf(answer('42501', { routine: 'ExecWithCheckOptions' }))).toBe('data');
    expect(kindOf(answer('42501', { routine: 'aclcheck_error' }))).toBe('config');
  });

  it.each([
    [nodeError('ECONNRESET'), 'unknown'],
    [nodeError('EPIPE'), 'unknown'],
    [new Error('Connection terminated unexpectedly'), 'unknown'],
    [answer('57P01', { severity: 'FATAL' }), 'unknown'],
    [answer('08007'), 'unknown'],
    [answer('40003'), 'unknown'],
    [answer('40001'), 'transient'],
    [answer('23503'), 'data'],
  ])('N1 knows the outcome of a COMMIT only from a clear answer: %s', (error, kind) => {
    expect(kindOf(error, 'committing')).toBe(kind);
  });

  it.each([
    ['ECONNREFUSED', 'transient'],
    ['ENOTFOUND', 'config'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'config'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'config'],
  ])('takes %s of the connection for %s', (code, kind) => {
    expect(kindOf(nodeError(code), 'connecting')).toBe(kind);
  });

  it('does not take a code of Node for a SQLSTATE', () => {
    expect(stateOf(nodeError('EPIPE'))).toBe('');
    expect(stateOf(answer('22P02'))).toBe('22P02');
  });

  it("carries the server's code and message, and what to do", () => {
    const failure = classify(answer('42P01'), 'storing');
    expect(failure.error.message).toMatch(/^42P01: what the server said: check table/);
    expect(failure.error).toMatchObject({ code: 'ERR_SLUICE_POSTGRES_TABLE', failure: 'config' });
  });
});
