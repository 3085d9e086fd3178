// The modern ClickHouse engine behind the part of its HTTP interface that clients need. A process of its own, for an
// abort of the engine ends the process it runs in.
//   node engine.mjs PORT FOLDER [USER PASSWORD]
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { inRoot } from '../paths.mjs';

/** @type {{ Session: new (folder: string) => Engine }} */
const { Session } = createRequire(inRoot('test/engines/package.json'))('chdb');

/**
 * @typedef {{ bytes(): Uint8Array }} Result
 * @typedef {{
 *   queryAsync(sql: string, options: { format: string }): Promise<Result>,
 *   insert(what: { table: string, values: Buffer, format: string, settings?: Record<string, string> }): Promise<unknown>,
 *   close(): void,
 * }} Engine
 */

const [port = '', folder = '', user = 'default', password = ''] = process.argv.slice(2);
const engine = new Session(folder);

const INSERT = /^\s*INSERT\s+INTO\s+(?:TABLE\s+)?([`"\w.]+)\s+FORMAT\s+(JSONEachRow)\s*$/i;
const NO_SETTINGS = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'session_id',
  'user',
  'password',
]);
/** What a server answers with, by the code of the exception; all others are 500. */
const STATUSES = new Map([
  [60, 404],
  [81, 404],
  [516, 403],
  [27, 400],
  [62, 400],
  [117, 400],
]);

const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const WRONG_PASSWORD =
  'Code: 516. DB::Exception: default: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)';

/** @param {import('node:http').IncomingMessage} request */
async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces);
  return request.headers['content-encoding'] === 'gzip' ? promisify(gunzip)(body) : body;
}

/**
 * @param {URL} url
 * @param {Buffer} body
 */
async function answerTo(url, body) {
  const query = url.searchParams.get('query');
  const insert = query === null ? null : INSERT.exec(query);
  if (insert) {
    const settings = Object.fromEntries([...url.searchParams].filter(([name]) => !NO_SETTINGS.has(name)));
    const table = (insert[1] ?? '').replaceAll(/[`"]/g, '');
    await engine.insert({ table, values: body, format: 'JSONEachRow', settings });
    return Buffer.alloc(0);
  }
  const sql = (query === null ? body.toString() : `${query}\n${body.toString()}`).trim().replace(/;$/, '');
  const format = /\sFORMAT\s+(\w+)$/i.exec(sql);
  const asked = format?.[1] ?? url.searchParams.get('default_format') ?? 'TabSeparated';
  const result = await engine.queryAsync(format ? sql.slice(0, format.index) : sql, { format: asked });
  return Buffer.from(result.bytes());
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function answer(request, response) {
  const url = new URL(request.url ?? '/', 'http://localhost');
  try {
    const body = await bodyOf(request);
    if (request.headers.authorization !== authorization) throw new Error(WRONG_PASSWORD);
    response.end(await answerTo(url, body));
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const code = Number(/Code:\s*(\d+)/.exec(said)?.[1] ?? 1002);
    const text = said.startsWith('Code:') ? said : `Code: ${code}. DB::Exception: ${said}`;
    response.writeHead(STATUSES.get(code) ?? 500, { 'X-ClickHouse-Exception-Code': String(code) });
    response.end(`${text} (version 26.7 (chdb))\n`);
  }
}

createServer((request, response) => void answer(request, response)).listen(Number(port), '127.0.0.1', () =>
  process.send?.('ready'),
);
