/** Names of databases and tables, as SQL wants them. */

export interface TableName {
  /** Undefined: the connection's. */
  readonly database: string | undefined;
  readonly table: string;
}

const unquoted = (part: string) =>
  /^[`"]/.test(part) ? part.slice(1, -1).replaceAll(/\\(.)/g, '$1').replaceAll('``', '`') : part;

/** `table`, `database.table`, each part perhaps in backquotes or double quotes. */
export function parseTable(text: string): TableName {
  const parts = (text.match(/`(?:[^`\\]|\\.|``)+`|"(?:[^"\\]|\\.)+"|[^.]+/g) ?? []).map(unquoted);
  const [first = '', second] = parts;
  return second === undefined ? { database: undefined, table: first } : { database: first, table: second };
}

const quoted = (name: string) => `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``;

export const quotedTable = ({ database, table }: TableName) =>
  database === undefined ? quoted(table) : `${quoted(database)}.${quoted(table)}`;

/** A text for SQL. */
export const literal = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
