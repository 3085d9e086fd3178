/**
 * Copies what can still be read of a damaged queue into the new one. The damaged file stays as it is. Records keep
 * their seq; one that was settled in a part that can't be read any more may be delivered again. Keys aren't copied: a
 * record that is known by its key and lost with a damaged part would be taken for stored.
 */
import Database from 'better-sqlite3';
import { readableRows } from '../sqlite/damaged-rows';
import { Chunk } from './sqlite-chunk';
import { CountersRow, type Counters } from './sqlite-counters';
import { FRAME_BYTES } from './sqlite-wire';

/** Rows copied in one transaction, so that the log stays small. */
const GROUP = 64;

interface Row {
  readonly id: number;
  readonly data: Buffer;
}

/** Looks at a row before it is copied; throws to leave it out. The result is called once it is stored. */
type Check = (row: Row) => () => void;

/** Told after each group: how many records were saved so far, the dead ones too, and how many the file should hold. */
export type SalvageListener = (saved: number, expected: number) => void;

/** Returns how many records were saved. Whatever can't be read or no longer fits is left behind. */
export function salvage(
  damaged: string,
  db: Database.Database,
  nativeBinding: string | undefined,
  onSaved: SalvageListener = () => undefined,
): number {
  const row = new CountersRow(db);
  const counters = row.read();
  const binding = nativeBinding === undefined ? {} : { nativeBinding };
  try {
    const from = new Database(damaged, { readonly: true, timeout: 0, ...binding });
    try {
      const expected = copyCounters(from, counters);
      const tell = () => onSaved(counters.records + counters.dead, expected);
      copyTable(from, db, 'chunk', 'first', (chunk) => checkChunk(from, db, chunk, counters), tell);
      const countParked: Check =
        ({ data }) =>
        () => {
          counters.parked++;
          counters.records++;
          counters.bytes += data.length;
        };
      copyTable(from, db, 'parked', 'seq', countParked, tell);
      const countDead: Check =
        ({ id }) =>
        () => {
          counters.dead++;
          counters.nextDead = Math.max(counters.nextDead, id + 1);
        };
      copyTable(from, db, 'dead', 'id', countDead, tell);
    } finally {
      from.close();
    }
  } catch {
    // What was saved until here counts; the rest is in the damaged file.
  }
  row.write(counters);
  return counters.records;
}

/** Returns how many records the damaged file counts; 0 where that can't be read. */
function copyCounters(from: Database.Database, counters: Counters): number {
  try {
    const { next, evicted, evictedBytes, deadTrimmed, records, dead } = new CountersRow(from).read();
    Object.assign(counters, { next: Math.max(next, counters.next), evicted, evictedBytes, deadTrimmed });
    return records + dead;
  } catch {
    // They start anew.
    return 0;
  }
}

/** A chunk with damaged records is left out whole, because its frames can't be told apart. */
function checkChunk(
  from: Database.Database,
  to: Database.Database,
  row: Row,
  counters: Counters,
): () => void {
  const bits = readBits(from, row.id);
  const chunk = Chunk.read({ ...(row as Row & Parameters<typeof Chunk.read>[0]), bits });
  if (bits) to.prepare('INSERT OR REPLACE INTO settled VALUES(?, ?)').run(row.id, bits);
  return () => {
    counters.records += chunk.live;
    counters.bytes += row.data.length - FRAME_BYTES * chunk.count - chunk.settledBytes;
    counters.next = Math.max(counters.next, chunk.end);
  };
}

function readBits(from: Database.Database, first: number): Buffer | null {
  try {
    const row = from
      .prepare<[number], { bits: Buffer }>('SELECT bits FROM settled WHERE first = ?')
      .get(first);
    return row?.bits ?? null;
  } catch {
    return null;
  }
}

/** Copies the rows that can be read and pass their check. */
function copyTable(
  from: Database.Database,
  to: Database.Database,
  table: string,
  key: string,
  check: Check,
  saved: () => void,
): void {
  const columns = (to.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  const insert = to.prepare<[Row]>(
    `INSERT INTO ${table} VALUES(${columns.map((name) => `$${name}`).join(', ')})`,
  );
  const save = to.transaction((rows: readonly Row[]) =>
    rows.flatMap((row) => {
      const stored = attempt(() => check(row));
      if (!stored) return [];
      insert.run(row);
      return [stored];
    }),
  );
  let group: Row[] = [];
  const saveGroup = () => {
    for (const stored of save(group)) stored();
    group = [];
    saved();
  };
  for (const row of readableRows<Row>(from, table, key)) {
    if (group.push(row) === GROUP) saveGroup();
  }
  saveGroup();
}

function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
