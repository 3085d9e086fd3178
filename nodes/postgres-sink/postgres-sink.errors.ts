import type { InsertFailure } from '#lib/batch/contract';
import type { ErrorCode } from '#lib/errors/codes';
import { DeliveryError, type FailureClass } from '#lib/errors/errors';

interface Rule {
  /** SQLSTATEs, whole or by their beginning, or error codes of Node. First match wins. */
  readonly states: readonly string[];
  readonly kind: 'data' | 'config' | 'transient';
  readonly code: ErrorCode;
  readonly advice: string;
}

const KEPT = 'the origin keeps the records';

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const RULES: readonly Rule[] = [
  {
    // 08P01 is a statement that the server can't read, not a lost connection; P0001 and P0004 come from triggers.
    states: ['21000', '22', '23', '54', '08P01', '44000', 'P0001', 'P0004'],
    kind: 'data',
    code: 'ERR_SLUICE_POSTGRES_ROW',
    advice: 'the table does not take this record',
  },
  {
    states: ['28', '3D000', 'ERR_TLS', 'CERT_', 'DEPTH_ZERO', 'SELF_SIGNED', 'UNABLE_TO'],
    kind: 'config',
    code: 'ERR_SLUICE_POSTGRES_LOGIN',
    advice: `check database, user, password and TLS of the server; ${KEPT}`,
  },
  {
    states: ['ENOTFOUND', 'EAI_', 'EHOSTUNREACH', 'ENETUNREACH'],
    kind: 'config',
    code: 'ERR_SLUICE_POSTGRES_LOGIN',
    advice: `check the host of the server; ${KEPT}`,
  },
  {
    states: ['42501'],
    kind: 'config',
    code: 'ERR_SLUICE_POSTGRES_TABLE',
    advice: `grant INSERT on the table to the user; ${KEPT}`,
  },
  {
    states: ['25006'],
    kind: 'config',
    code: 'ERR_SLUICE_POSTGRES_TABLE',
    advice: `the server is read-only, perhaps a standby: name the primary; ${KEPT}`,
  },
  {
    states: ['42', '3F000', '0A000'],
    kind: 'config',
    code: 'ERR_SLUICE_POSTGRES_TABLE',
    advice: `check table, columns and key columns; ${KEPT}`,
  },
];

const UNREACHABLE: Omit<Rule, 'states'> = {
  kind: 'transient',
  code: 'ERR_SLUICE_POSTGRES_UNREACHABLE',
  advice: `it is tried again; ${KEPT}`,
};

const CLASSES: Readonly<Record<Rule['kind'], FailureClass>> = {
  data: 'permanent',
  config: 'config',
  transient: 'transient',
};

/** The error's SQLSTATE or code of Node, else ''. */
export function stateOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

/**
 * What a failed insert means, by the server's own code. `committing`: the server had been asked to commit, so that a
 * connection which breaks then tells nothing about the outcome.
 */
export function classify(error: unknown, committing: boolean): Exclude<InsertFailure, { kind: 'rows' }> {
  const state = stateOf(error);
  const { kind, code, advice } =
    RULES.find(({ states }) => states.some((start) => state.startsWith(start))) ?? UNREACHABLE;
  const said = error instanceof Error ? error.message : String(error);
  const options = { failure: CLASSES[kind], cause: error } as const;
  const failure = new DeliveryError(code, `${state ? `${state}: ` : ''}${said}: ${advice}`, options);
  // A server that answers with a SQLSTATE has rolled back; only silence leaves the outcome open.
  const isOpen = committing && kind === 'transient' && !/^[0-9A-Z]{5}$/.test(state);
  return { kind: isOpen ? 'unknown' : kind, error: failure };
}
