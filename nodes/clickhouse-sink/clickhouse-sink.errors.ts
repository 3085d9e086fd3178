import type { InsertFailure } from '#lib/batch/contract';
import type { ErrorCode } from '#lib/errors/codes';
import { DeliveryError, type FailureClass } from '#lib/errors/errors';

interface Rule {
  /** Codes of ClickHouse, or codes of Node by their beginning. */
  readonly codes: readonly (number | string)[];
  readonly kind: Exclude<InsertFailure['kind'], 'rows'>;
  readonly code: ErrorCode;
  readonly advice: string;
}

const KEPT = 'the origin keeps the records';

/** https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp; first match wins. */
const DATA: Rule = {
  // What the rows are made of: text that can't be read as the column's type, values out of range, constraints.
  codes: [
    ...[
      6, 9, 13, 25, 26, 27, 32, 33, 38, 41, 53, 69, 70, 72, 117, 128, 130, 131, 153, 190, 321, 349, 366, 376,
    ],
    ...[395, 407, 441, 467, 469, 563, 632, 645, 675, 676, 691],
  ],
  kind: 'data',
  code: 'ERR_SLUICE_CLICKHOUSE_ROW',
  advice: 'the table does not take this record',
};

const RULES: readonly Rule[] = [
  DATA,
  {
    codes: [
      81,
      192,
      193,
      194,
      195,
      516,
      'ERR_TLS',
      'CERT_',
      'DEPTH_ZERO',
      'SELF_SIGNED',
      'UNABLE_TO',
      'EPROTO',
    ],
    kind: 'config',
    code: 'ERR_SLUICE_CLICKHOUSE_LOGIN',
    advice: `check database, user, password and TLS of the server; ${KEPT}`,
  },
  {
    codes: ['ENOTFOUND', 'EAI_', 'EHOSTUNREACH', 'ENETUNREACH'],
    kind: 'config',
    code: 'ERR_SLUICE_CLICKHOUSE_LOGIN',
    advice: `check the URL of the server; ${KEPT}`,
  },
  {
    codes: [164, 291, 497],
    kind: 'config',
    code: 'ERR_SLUICE_CLICKHOUSE_TABLE',
    advice: `grant INSERT on the table to the user; ${KEPT}`,
  },
  {
    codes: [115, 452, 472],
    kind: 'config',
    code: 'ERR_SLUICE_CLICKHOUSE_TABLE',
    advice: `check the settings in the URL, and those that the user may change; ${KEPT}`,
  },
  {
    codes: [7, 10, 16, 20, 43, 44, 46, 47, 48, 60, 62, 73, 80, 218, 344, 774],
    kind: 'config',
    code: 'ERR_SLUICE_CLICKHOUSE_TABLE',
    advice: `check table, columns and materialized views; ${KEPT}`,
  },
  {
    // It had begun: whether it has stored the rows isn't known.
    codes: [95, 159, 209, 210, 319, 394, 659, 677, 734, 735],
    kind: 'unknown',
    code: 'ERR_SLUICE_CLICKHOUSE_UNREACHABLE',
    advice: `the same batch is sent again; ${KEPT}`,
  },
  {
    // No connection, so nothing was sent.
    codes: ['ECONNREFUSED'],
    kind: 'transient',
    code: 'ERR_SLUICE_CLICKHOUSE_UNREACHABLE',
    advice: `it is tried again; ${KEPT}`,
  },
];

/** A server that points at a row or a value was reading the rows, whatever its code is. */
const POINTS_AT_DATA = /\(at row \d+\)|while read(?:ing)? the value of key/;

/** A server that answers has refused; one that doesn't may have stored what it was sent. */
const otherwise = (hasAnswered: boolean): Rule => ({
  codes: [],
  kind: hasAnswered ? 'transient' : 'unknown',
  code: 'ERR_SLUICE_CLICKHOUSE_UNREACHABLE',
  advice: `it is tried again; ${KEPT}`,
});

const CLASSES: Readonly<Record<Rule['kind'], FailureClass>> = {
  data: 'permanent',
  config: 'config',
  transient: 'transient',
  unknown: 'transient',
};

const TOO_MANY_PARTS = 252;
/** A page of a proxy may be long. */
const LONGEST_TEXT = 400;

export interface ServerError {
  /** ClickHouse's code, else Node's, else ''. */
  readonly code: number | string;
  readonly text: string;
  /** The row that it failed at, counted from 0. */
  readonly row: number | undefined;
  readonly pointsAtData: boolean;
}

/** Reads the error of the client. Servers before 20 don't name their codes: `Code: 60, e.displayText() = DB::Exception: …`. */
export function serverError(error: unknown): ServerError {
  const text = error instanceof Error ? error.message : String(error);
  const own = error instanceof Error && 'code' in error ? String(error.code) : '';
  const given = /^\d+$/.test(own) ? own : /\bCode: (\d+)/.exec(text)?.[1];
  const row = /\(at row (\d+)\)/.exec(text)?.[1];
  return {
    code: given === undefined ? own : Number(given),
    text: shortened(text),
    row: row === undefined ? undefined : Number(row) - 1,
    pointsAtData: POINTS_AT_DATA.test(text),
  };
}

function shortened(text: string): string {
  const line = text
    .replace(/^Code: \d+[.,]?\s*/, '')
    .replace(/^e\.displayText\(\) = /, '')
    .replace(/,? e\.what\(\) = .*$/s, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length > LONGEST_TEXT ? `${line.slice(0, LONGEST_TEXT)}…` : line;
}

function ruleFor({ code, pointsAtData }: ServerError): Rule {
  const found = RULES.find(({ codes }) =>
    codes.some((one) => one === code || (typeof one === 'string' && String(code).startsWith(one))),
  );
  return found ?? (pointsAtData ? DATA : otherwise(typeof code === 'number'));
}

/** What a failed insert of `rows` rows means, by the server's own code and never by the status of HTTP. */
export function classify(error: unknown, rows: number): Exclude<InsertFailure, { kind: 'rows' }> {
  const said = serverError(error);
  // More partitions than one insert may touch; half of the rows touch fewer.
  if (said.code === TOO_MANY_PARTS && rows > 1 && /partitions/i.test(said.text)) {
    return { kind: 'data', error: failureOf({ ...otherwise(true), kind: 'data' }, said) };
  }
  const rule = ruleFor(said);
  const failure = failureOf(rule, said);
  const { row: hint } = said;
  if (rule.kind !== 'data' || hint === undefined || hint >= rows) return { kind: rule.kind, error: failure };
  return { kind: 'data', error: failure, hint };
}

/** The materialized view that refused rows which its table had taken, from what the server says. */
export function refusingView(error: unknown): string | undefined {
  const text = error instanceof Error ? error.message : String(error);
  return /while pushing to view ([^\s:]+)/i.exec(text)?.[1];
}

/** For the operator: the rows are good, and in the table. */
export function viewFailure(error: unknown, view: string): DeliveryError {
  const advice = `mend or detach the materialized view ${view}; the same batch is sent again; ${KEPT}`;
  const rule: Rule = { codes: [], kind: 'config', code: 'ERR_SLUICE_CLICKHOUSE_TABLE', advice };
  return failureOf(rule, serverError(error));
}

function failureOf({ kind, code, advice }: Rule, said: ServerError): DeliveryError {
  const prefix = said.code === '' ? '' : `${said.code}: `;
  return new DeliveryError(code, `${prefix}${said.text}: ${advice}`, { failure: CLASSES[kind] });
}
