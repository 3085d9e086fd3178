/** Columns of a sink that come from properties of the message, as its `columns` says: a `column = property` a line. */
import { ConfigError } from '../errors/errors';
import type { Message, NodeRED } from './types';

/** A column and its value; undefined where the message has none. */
export type ColumnValue = readonly [column: string, value: unknown];

/** What reads the columns of a message; undefined where `lines` names none. Throws ConfigError for a property that is none. */
export function messageColumns(
  RED: NodeRED,
  lines: string,
): ((msg: Message) => readonly ColumnValue[]) | undefined {
  const sources = lines.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf('=');
    return at < 0 ? [] : [{ column: line.slice(0, at).trim(), path: line.slice(at + 1).trim() }];
  });
  if (sources.length === 0) return undefined;
  const read = (msg: Message): ColumnValue[] =>
    sources.map(({ column, path }) => [column, propertyOf(RED, msg, path)]);
  read({});
  return read;
}

/** Undefined also where the way to the property ends early. */
function propertyOf(RED: NodeRED, msg: Message, path: string): unknown {
  try {
    return RED.util.getMessageProperty(msg, path);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'INVALID_EXPR')) return undefined;
    const text = `columns: ${path} is no property: ${cause.message}`;
    throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', text, { cause });
  }
}
