/** The thread in which PostgreSQL runs: made ready, given batches of records, killed by the main thread when one hangs. */
import { parentPort, type MessagePort } from 'node:worker_threads';
import type { PGlite } from '@electric-sql/pglite';
import { requireOptional } from '../../packages/optional-package';
import { PGLITE } from './pglite-package';
import {
  splitRows,
  type FromSqlWorker,
  type SelectSpec,
  type SqlFault,
  type SqlResult,
  type ToSqlWorker,
} from './protocol';
import { batched, describing, guarded, guardedBatch } from './wrapping';

const UNDEFINED_TABLE = '42P01';
const UNNAMED = '?column?';

type BatchAnswer = Extract<FromSqlWorker, { rows: string } | { results: readonly SqlResult[] }>;

interface Prepared {
  readonly batch: string;
  readonly guard: string;
  readonly drop: string;
}

const refused = (message: string): SqlFault => ({ code: '42000', message });

function faultOf(error: unknown): SqlFault {
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return { code, message: error.message };
}

class SqlRunner {
  readonly #prepared = new Map<number, Prepared>();

  constructor(private readonly db: PGlite) {}

  /** The name under which the SELECT reads records is the one relation that doesn't exist. */
  async #streamOf({ select, columns }: SelectSpec): Promise<string | undefined> {
    try {
      await this.db.describeQuery(describing(select, undefined, columns));
      return undefined;
    } catch (error) {
      const { code, message } = faultOf(error);
      const name = /^relation "([^"]+)" does not exist/.exec(message)?.[1];
      if (code !== UNDEFINED_TABLE || name === undefined) throw error;
      return name;
    }
  }

  /** Undefined once it is ready. */
  async prepare(id: number, spec: SelectSpec): Promise<SqlFault | undefined> {
    const { select, columns } = spec;
    try {
      const stream = await this.#streamOf(spec);
      const { resultFields } = await this.db.describeQuery(describing(select, stream, columns));
      const names = resultFields.map(({ name }) => name);
      if (names.includes(UNNAMED)) return refused('a column has no name: give it one with AS');
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      if (twice !== undefined) return refused(`two columns are called "${twice}": rename one with AS`);
      const name = `pg_temp.sluice_${id}`;
      await this.db.exec(`BEGIN READ WRITE; ${guarded(name, select, stream, columns)}; COMMIT`);
      this.#prepared.set(id, {
        batch: batched(select, stream, columns),
        guard: guardedBatch(name),
        drop: `BEGIN READ WRITE; DROP FUNCTION ${name}(text); COMMIT`,
      });
      await this.run(id, []);
      return undefined;
    } catch (error) {
      return faultOf(error);
    }
  }

  /** Throws when the engine itself fails. */
  async run(id: number, records: readonly string[]): Promise<BatchAnswer> {
    const prepared = this.#prepared.get(id);
    if (!prepared) throw new Error(`no statement ${id}`);
    try {
      const { rows } = await this.db.query<{ rows: string | null }>(prepared.batch, [records]);
      return { rows: rows[0]?.rows ?? '' };
    } catch (error) {
      if (faultOf(error).code === '') throw error;
    }
    // One of them fails: all are evaluated again, each with its own end.
    const { rows } = await this.db.query<{ result: string }>(prepared.guard, [records]);
    return { results: rows.map(({ result }) => guardedResult(result)) };
  }

  async forget(id: number): Promise<void> {
    const prepared = this.#prepared.get(id);
    this.#prepared.delete(id);
    if (prepared) await this.db.exec(prepared.drop);
  }
}

function guardedResult(result: string): SqlResult {
  if (result.startsWith('!')) return { code: result.slice(1, 6), message: result.slice(6) };
  return splitRows(result.slice(1));
}

async function serve(port: MessagePort): Promise<void> {
  const { PGlite: Engine } = requireOptional<typeof import('@electric-sql/pglite')>(PGLITE);
  const db = new Engine();
  await db.waitReady;
  await db.exec('SET default_transaction_read_only = on');
  const runner = new SqlRunner(db);
  const post = (message: FromSqlWorker) => port.postMessage(message);
  const handle = async (message: ToSqlWorker) => {
    if ('prepare' in message) {
      const fault = await runner.prepare(message.prepare, message.spec);
      post(fault ? { refused: fault } : { prepared: true });
    } else if ('run' in message) post(await runner.run(message.run, message.records));
    else await runner.forget(message.forget);
  };
  let last = Promise.resolve();
  port.on('message', (message: ToSqlWorker) => {
    last = last.then(() => handle(message));
    // What the engine can't go on after ends the thread; the main thread starts another.
    last.catch((error: unknown) => {
      throw error;
    });
  });
  post({ ready: true });
}

if (parentPort) void serve(parentPort);
