import type { InsertFailure } from '#lib/batch/contract';
import type { ErrorCode } from '#lib/errors/codes';
import { DeliveryError, type FailureClass } from '#lib/errors/errors';

/** How far a batch had come when it failed. */
export type InsertPhase = 'connecting' | 'storing' | 'committing';

interface Rule {
  /** SQLSTATEs, whole or by their beginning. */
  readonly states: readonly string[];
  /** Codes of Node, whole or by their beginning. */
  readonly codes?: readonly string[];
  readonly kind: 'data' | 'config' | 'transient';
  readonly code: ErrorCode;
  readonly advice: string;
}

const KEPT = 'the origin keeps the records';

/** What triggers and functions raise, the rows being at fault: the classes for it, and those that nobody else uses. */
const RAISED = ['09', '27', '2F', '38', '39', '44', '45', 'P0', ...'6789IJKLMNOQRSTUVWYZ'];

const ROW: Rule = {
  // 08P01 is a statement that the server can't read, not a lost connection.
  states: ['21000', '22', '23', '54', '08P01', ...RAISED],
  kind: 'data',
  code: 'ERR_SLUICE_POSTGRES_ROW',
  advice: 'the table does not take this record',
};

/** First match wins. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const RULES: readonly Rule[] = [
  ROW,
  {
    states: ['28', '3D000'],
    codes: ['ERR_TLS', 'CERT_', 'DEPTH_ZERO', 'SELF_SIGNED', 'UNABLE_TO'],
    kind: 'config',
    code: 'ERR_SLUICE_POSTGRES_LOGIN',
    advice: `check database, user, password and TLS of the server; ${KEPT}`,
  },
  {
    states: [],
    codes: ['ENOTFOUND', 'EAI_', 'EHOSTUNREACH', 'ENETUNREACH'],
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

const UNREACHABLE: Rule = {
  states: [],
  kind: 'transient',
  code: 'ERR_SLUICE_POSTGRES_UNREACHABLE',
  advice: `it is tried again, check host and port if the server is up; ${KEPT}`,
};

const CLASSES: Readonly<Record<Rule['kind'], FailureClass>> = {
  data: 'permanent',
  config: 'config',
  transient: 'transient',
};

/** Answers to COMMIT that leave open what became of it: the connection or the server went down meanwhile. */
const OPEN_STATES = ['08', '40003', '57'];

const beginsWith = (text: string, starts: readonly string[]) =>
  starts.some((start) => text.startsWith(start));

const textIn = (error: unknown, property: 'code' | 'severity' | 'routine') => {
  const value = error instanceof Error ? (error as unknown as Record<string, unknown>)[property] : undefined;
  return typeof value === 'string' ? value : '';
};

/** The SQLSTATE that the server answered with, '' for an error that isn't its own. */
export function stateOf(error: unknown): string {
  return textIn(error, 'severity') === '' ? '' : textIn(error, 'code');
}

function ruleFor(error: unknown, state: string, phase: InsertPhase): Rule {
  // A policy for rows refuses one; the state is that of a user who may not write at all.
  if (state === '42501' && textIn(error, 'routine') === 'ExecWithCheckOptions') return ROW;
  // Poolers answer with 08P01 whatever is wrong, and end the connection: that is not about a record.
  const isAboutRows = phase !== 'connecting' && !/^(?:FATAL|PANIC)$/.test(textIn(error, 'severity'));
  const code = state === '' ? textIn(error, 'code') : '';
  const fits = ({ states, codes = [], kind }: Rule) =>
    state === '' ? beginsWith(code, codes) : beginsWith(state, states) && (isAboutRows || kind !== 'data');
  return RULES.find(fits) ?? UNREACHABLE;
}

/**
 * What a failed insert means, by the server's own code. When it had been asked to commit and there is no clear answer,
 * the outcome is unknown.
 */
export function classify(error: unknown, phase: InsertPhase): Exclude<InsertFailure, { kind: 'rows' }> {
  const state = stateOf(error);
  const { kind, code, advice } = ruleFor(error, state, phase);
  const said = error instanceof Error ? error.message : String(error);
  const label = state || textIn(error, 'code');
  const options = { failure: CLASSES[kind], cause: error } as const;
  const failure = new DeliveryError(code, `${label ? `${label}: ` : ''}${said}: ${advice}`, options);
  const isOpen =
    phase === 'committing' && kind === 'transient' && (state === '' || beginsWith(state, OPEN_STATES));
  return { kind: isOpen ? 'unknown' : kind, error: failure };
}
