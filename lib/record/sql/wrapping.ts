/**
 * The statements that the engine runs for a user's SELECT. Each record is evaluated in a lateral of its own, over a
 * relation of just that record: an aggregate, a LIMIT or an ORDER BY never mixes two.
 */
import type { Column } from './columns';
import { ROW_SEPARATOR } from './protocol';

const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

function relation(stream: string | undefined, from: string): string {
  return stream === undefined ? '' : `WITH ${identifier(stream)} AS (${from}) `;
}

/** The record `record` as a relation of one row. */
function recordRelation(columns: readonly Column[], record: string): string {
  const declared = columns.map(({ name, type }) => `${identifier(name)} ${type}`).join(', ');
  return `SELECT * FROM jsonb_to_record(${record}::jsonb) AS "sluice_columns"(${declared})`;
}

// The line break ends a comment at the end of the user's text.
const inner = (select: string) => `SELECT * FROM (${select}\n) AS "sluice_select"`;

/** For the names and types of what comes out, and whether all names in it are known. */
export function describing(select: string, stream: string | undefined, columns: readonly Column[]): string {
  const nulls = columns.map(({ name, type }) => `NULL::${type} AS ${identifier(name)}`).join(', ');
  return relation(stream, `SELECT ${nulls}`) + inner(select);
}

/**
 * Takes a text[] of records; gives one row, whose `rows` are all that come of them (see `unpackRows`): a row of the wire
 * protocol for each would take longer than its evaluation.
 */
export function batched(select: string, stream: string | undefined, columns: readonly Column[]): string {
  const one = relation(stream, recordRelation(columns, 'b.record')) + inner(select);
  return (
    `SELECT string_agg(b.n::text || ' ' || row_to_json(r)::text, chr(${ROW_SEPARATOR})) AS rows ` +
    `FROM unnest($1::text[]) WITH ORDINALITY AS b(record, n) CROSS JOIN LATERAL (${one}) AS r`
  );
}

/**
 * A function that evaluates one record and catches its error. Slower than `batched`: for the batches in which one fails.
 * Gives `=` and the rows as JSON, or `!`, the five letters of the SQLSTATE and the message.
 */
export function guarded(
  name: string,
  select: string,
  stream: string | undefined,
  columns: readonly Column[],
): string {
  const one = relation(stream, recordRelation(columns, '$1')) + inner(select);
  const body = `DECLARE result text; BEGIN
SELECT '=' || coalesce(string_agg(row_to_json(r)::text, chr(${ROW_SEPARATOR})), '') INTO result FROM (${one}) AS r;
RETURN result;
EXCEPTION WHEN OTHERS THEN RETURN '!' || SQLSTATE || SQLERRM; END`;
  const quote = dollarQuote(body);
  return `CREATE FUNCTION ${name}(text) RETURNS text LANGUAGE plpgsql AS ${quote}${body}${quote}`;
}

/** A quote that the text doesn't hold. */
function dollarQuote(text: string): string {
  for (let number = 0; ; number += 1) {
    const quote = `$sluice${number}$`;
    if (!text.includes(quote)) return quote;
  }
}

/** Takes a text[] of records; gives a row with `result` for each, in order. */
export const guardedBatch = (name: string) =>
  `SELECT ${name}(b.record) AS result FROM unnest($1::text[]) WITH ORDINALITY AS b(record, n) ORDER BY b.n`;
