/** Names of tables and columns, as SQL wants them. */

/** A name as it is, whatever it is made of. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** `schema.table` or `"A table"` with every part quoted; unquoted parts are lower case, as the server takes them. */
export function quotedTable(table: string): string {
  const parts = table.match(/"(?:[^"]|"")+"|[^.]+/g) ?? [];
  return parts.map((part) => (part.startsWith('"') ? part : quoted(part.toLowerCase()))).join('.');
}

/** Names from a comma-separated list. */
export const namesIn = (list: string) =>
  list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
