import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HELD, type LeasedRecord, type QueueStore, type Settlement } from '#lib/queue/contract';
import { openSqliteStore } from '#lib/queue/sqlite-store';

interface Row {
  readonly seq: number;
  readonly text: string;
  state: 'queued' | 'leased' | 'parked';
  /** It failed before: it has a row of its own. */
  failed: boolean;
  dueAt: number;
  attempts: number;
  unknowns: number;
}

/** The contract in its plainest form: one list. */
class Model {
  rows: Row[] = [];
  keys = new Map<string, { readonly seq: number; readonly at: number }>();
  dead = 0;
  evicted = 0;
  now = 1_000_000;

  get bytes() {
    return this.rows.reduce((sum, { text }) => sum + text.length, 0);
  }

  append(seq: number, text: string, evictDownTo?: number) {
    this.rows.push({ seq, text, state: 'queued', failed: false, dueAt: 0, attempts: 0, unknowns: 0 });
    if (evictDownTo === undefined) return;
    const old = this.rows.filter((row) => row.seq !== seq);
    const victims = [
      ...old.filter(({ state }) => state === 'parked'),
      ...old.filter(({ state }) => state === 'queued'),
      ...old.filter(({ state }) => state === 'leased'),
    ];
    for (const victim of victims) {
      if (this.bytes <= evictDownTo) break;
      this.remove(victim);
      this.forgetKeyOf(victim);
      this.evicted++;
    }
  }

  remove(row: Row) {
    this.rows = this.rows.filter((other) => other !== row);
  }

  forgetKeyOf({ seq }: Row) {
    for (const [key, stored] of this.keys) if (stored.seq === seq) this.keys.delete(key);
  }

  lease(maxRecords: number, maxBytes: number): Row[] {
    const due = this.rows.filter(({ state, dueAt }) => state === 'parked' && dueAt <= this.now);
    due.sort((a, b) => a.dueAt - b.dueAt || a.seq - b.seq);
    const given: Row[] = [];
    let room = maxBytes;
    for (const row of [...due, ...this.rows.filter(({ state }) => state === 'queued')]) {
      if (given.length === maxRecords || (given.length > 0 && row.text.length > room)) break;
      room -= row.text.length;
      given.push(row);
    }
    for (const row of given) row.state = 'leased';
    return given;
  }

  settle(settlement: Settlement) {
    const row = this.rows.find(({ seq, state }) => seq === settlement.seq && state === 'leased');
    if (!row) return;
    if (settlement.outcome === 'retry') {
      row.state = 'parked';
      row.dueAt = settlement.dueAt;
      row.attempts += settlement.spend ? 1 : 0;
      row.unknowns = settlement.unknown ? row.unknowns + 1 : settlement.spend ? 0 : row.unknowns;
    } else {
      this.remove(row);
      if (settlement.outcome !== 'dead') return;
      this.dead++;
      this.forgetKeyOf(row);
    }
  }

  restart() {
    for (const row of this.rows) if (row.state === 'leased') row.state = row.failed ? 'parked' : 'queued';
    for (const row of this.rows) row.failed = row.state === 'parked';
  }

  /** Those that were out come first, each on its own account; here they fail once more and are due at once. */
  crash() {
    for (const row of this.rows.filter(({ state }) => state === 'leased')) {
      Object.assign(row, { state: 'parked', failed: true, dueAt: this.now, unknowns: 0 });
      row.attempts++;
    }
  }

  recall(seqs: readonly number[]): Row[] {
    const given = seqs.flatMap(
      (wanted) => this.rows.find(({ seq, state }) => seq === wanted && state === 'parked') ?? [],
    );
    for (const row of given) row.state = 'leased';
    return given;
  }

  releaseHeld() {
    const parked = this.rows.filter(
      ({ failed, state }) => state === 'parked' || (failed && state === 'leased'),
    );
    const last = Math.max(0, ...parked.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt !== HELD));
    for (const row of parked) if (row.dueAt === HELD) row.dueAt = last;
  }

  nextDueAt() {
    const times = this.rows
      .filter(({ state, dueAt }) => state === 'parked' && dueAt !== HELD)
      .map(({ dueAt }) => dueAt);
    return times.length > 0 ? Math.min(...times) : undefined;
  }
}

const size = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(3000, 70_000, 300_000));
const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      sizes: fc.array(size, { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('evict' as const),
      size,
      downTo: fc.constantFrom(50, 4000, 100_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('keyed' as const),
      key: fc.constantFrom('a', 'b', 'c'),
      size,
      windowMs: fc.constantFrom(undefined, 5, 50),
      downTo: fc.constantFrom(undefined, undefined, 4000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('lease' as const),
      max: fc.integer({ min: 1, max: 9 }),
      bytes: fc.constantFrom(10, 5000, 1e9),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('done' as const),
      picks: fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('retry' as const),
      pick: fc.nat(20),
      inMs: fc.constantFrom(0, 5, 50, HELD),
      spend: fc.boolean(),
      unknown: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('recall' as const),
      picks: fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('releaseHeld' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('dead' as const), pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 10, 100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
);

const visible = (row: Row | undefined) =>
  row && { seq: row.seq, bytes: row.text.length, attempts: row.attempts, unknowns: row.unknowns };
const leased = ({ seq, record, attempts, unknowns }: LeasedRecord) => ({
  seq,
  bytes: record.byteLength,
  attempts,
  unknowns,
});

async function run(
  commands: readonly (typeof command extends fc.Arbitrary<infer C> ? C : never)[],
  file: string,
) {
  const model = new Model();
  let path = file;
  const open = () => openSqliteStore({ file: path, now: () => model.now });
  let store: QueueStore = await open();
  let lastSeq = 0;
  let count = 0;
  const write = (bytes: number) => `${count++}`.padEnd(bytes, '.').slice(0, bytes);
  const onLease = (pick: number) => {
    const rows = model.rows.filter(({ state }) => state === 'leased');
    return rows[pick % (rows.length || 1)];
  };
  const settle = async (settlement: Settlement) => {
    model.settle(settlement);
    await store.settle(settlement);
  };
  for (const step of commands) {
    switch (step.do) {
      case 'append': {
        const list = step.sizes.map(write);
        const results = await Promise.all(list.map((text) => store.append(Buffer.from(text))));
        for (const [index, { seq }] of results.entries()) {
          expect(seq).toBeGreaterThan(lastSeq);
          lastSeq = seq;
          model.append(seq, list[index] ?? '');
        }
        break;
      }
      case 'evict': {
        const text = write(step.size);
        const { seq } = await store.append(Buffer.from(text), { evictDownTo: step.downTo });
        lastSeq = seq;
        model.append(seq, text, step.downTo);
        break;
      }
      case 'keyed': {
        const text = write(step.size);
        const since = step.windowMs === undefined ? undefined : model.now - step.windowMs;
        const stored = model.keys.get(step.key);
        const known = stored && stored.at >= (since ?? 0) ? stored : undefined;
        const result = await store.append(Buffer.from(text), {
          key: step.key,
          ...(since !== undefined && { keySince: since }),
          ...(step.downTo !== undefined && { evictDownTo: step.downTo }),
        });
        expect(result.duplicate).toBe(known !== undefined);
        if (known) {
          expect(result.seq).toBe(known.seq);
        } else {
          lastSeq = result.seq;
          model.keys.set(step.key, { seq: result.seq, at: model.now });
          model.append(result.seq, text, step.downTo);
        }
        break;
      }
      case 'lease': {
        const given = await store.lease(step.max, step.bytes);
        expect(given.map(leased)).toEqual(model.lease(step.max, step.bytes).map(visible));
        break;
      }
      case 'done': {
        const seqs = step.picks.map((pick) => onLease(pick)?.seq ?? 0);
        await Promise.all(seqs.map((seq) => settle({ seq, outcome: 'done' })));
        break;
      }
      case 'retry': {
        const row = onLease(step.pick);
        const dueAt = step.inMs === HELD ? HELD : model.now + step.inMs;
        if (row) row.failed = true;
        await settle({
          seq: row?.seq ?? 0,
          outcome: 'retry',
          dueAt,
          spend: step.spend,
          unknown: step.unknown,
        });
        break;
      }
      case 'recall': {
        const parked = model.rows.filter(({ state }) => state === 'parked');
        const seqs = [...new Set(step.picks.map((pick) => parked[pick % (parked.length || 1)]?.seq ?? 0))];
        const { leased: given, later } = await store.leaseParked(seqs);
        expect(given.map(leased)).toEqual(model.recall(seqs).map(visible));
        expect(later).toEqual([]);
        break;
      }
      case 'releaseHeld':
        model.releaseHeld();
        await store.releaseHeld();
        break;
      case 'dead':
        await settle({ seq: onLease(step.pick)?.seq ?? 0, outcome: 'dead', reason: 'r', code: 'X' });
        break;
      case 'wait':
        model.now += step.ms;
        break;
      case 'crash': {
        // What a crash leaves: the file and its log as they are on the disk, the log first because it is written first.
        const left = `${file}.${count++}`;
        await copyFile(`${path}-wal`, `${left}-wal`);
        await copyFile(path, left);
        await store.close();
        path = left;
        let suspects = model.rows.filter(({ state }) => state === 'leased').length;
        store = await open();
        while (suspects > 0) {
          const given = await store.lease(suspects, 1e9);
          expect(given.length).toBeGreaterThan(0);
          expect(given.every(({ crashes }) => crashes === 1)).toBe(true);
          suspects -= given.length;
          const again = { outcome: 'retry', dueAt: model.now, spend: true, unknown: false } as const;
          await Promise.all(given.map(({ seq }) => store.settle({ seq, ...again })));
        }
        model.crash();
        break;
      }
      case 'restart':
        await store.close();
        model.restart();
        store = await open();
        break;
    }
    expect(store.counts()).toMatchObject({
      records: model.rows.length,
      bytes: model.bytes,
      parked: model.rows.filter(({ state }) => state === 'parked').length,
      dead: model.dead,
      evictedTotal: model.evicted,
    });
    // A lease alone is not a commit, and yet it changes what is next.
    expect(store.nextDueAt()).toBe(model.nextDueAt());
    const parked = model.rows.filter(({ state }) => state === 'parked');
    expect((await store.parkedAfter(0, 1000)).map(({ seq, dueAt }) => ({ seq, dueAt }))).toEqual(
      parked.map(({ seq, dueAt }) => ({ seq, dueAt })),
    );
  }
  await store.close();
}

describe('the SQLite queue against a list', () => {
  it('O5 does what the contract says, in any order of appends, leases, settlements, restarts and crashes', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'sluice-model-'));
    let files = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 60 }), (commands) =>
        run(commands, join(dir, `${files++}.db`)),
      ),
      { numRuns: 40, endOnFailure: true },
    );
    await rm(dir, { recursive: true });
  }, 120_000);
});
