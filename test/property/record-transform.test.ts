/** 100,000 records for each language, through the real engines: what comes out is what went in, or a typed error. */
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { RecordError } from '#lib/record/record-error';
import { compileJsonata } from '#nodes/record-transform/record-transform.jsonata';
import { openSql } from '#nodes/record-transform/record-transform.sql';

const RECORDS = 100_000;
const BATCH = 2000;
const TIMEOUT_MS = 280_000;
const seed = Number(process.env['SLUICE_TEST_SEED'] ?? Date.now() % 2 ** 31);

const anything = fc.anything({ maxDepth: 2, withBigInt: true, withDate: true, withTypedArray: true });
/** What PostgreSQL keeps as text: no NUL, no half of a surrogate pair. */
const isStorable = (text: string) => !/[\0\p{Surrogate}]/u.test(text);
const good = fc.record({
  a: fc.maxSafeInteger(),
  b: fc.double({ noNaN: true, noDefaultInfinity: true }),
  c: fc.string({ unit: 'binary' }).filter(isStorable),
});
const record = fc.oneof(
  { arbitrary: good, weight: 8 },
  { arbitrary: fc.record({ a: anything, b: anything, c: anything }, { requiredKeys: [] }), weight: 1 },
  { arbitrary: anything, weight: 1 },
);

type Row = Readonly<Record<'a' | 'b' | 'c', unknown>>;
const isGood = (value: unknown): value is Row => {
  if (typeof value !== 'object' || value === null) return false;
  const { a, b, c } = value as Partial<Row>;
  return Number.isSafeInteger(a) && Number.isFinite(b) && typeof c === 'string' && isStorable(c);
};

/** Samples of one seed after the other, so that a hundred thousand aren't in memory at once. */
async function forEachBatch(check: (records: readonly unknown[]) => Promise<void>): Promise<void> {
  for (let done = 0; done < RECORDS; done += BATCH) {
    await check(fc.sample(record, { numRuns: BATCH, seed: seed + done }));
  }
}

describe('R5 transform', () => {
  it(
    `gives ${RECORDS} records back from SQL as they were, or fails each for itself (seed ${seed})`,
    { timeout: TIMEOUT_MS },
    async () => {
      const sql = openSql({
        expression: 'SELECT a, b, c FROM s',
        columns: '{"a":"bigint","b":"float","c":"string"}',
        timeoutMs: 60_000,
      });
      await sql.ready;
      const run = async (value: unknown) => sql.run(value);
      await forEachBatch(async (records) => {
        const results = await Promise.allSettled(records.map(run));
        for (const [index, result] of results.entries()) {
          const given = records[index];
          if (result.status === 'rejected') {
            expect(result.reason).toBeInstanceOf(RecordError);
            expect(isGood(given)).toBe(false);
          } else if (isGood(given)) {
            const { a, b, c } = given;
            expect(result.value).toEqual([{ a: a === 0 ? 0 : a, b: b === 0 ? 0 : b, c }]);
          } else expect(result.value.length).toBe(1);
        }
      });
      sql.close();
    },
  );

  it(
    `lets ${RECORDS} records pass JSONata as they were, or fails them (seed ${seed})`,
    { timeout: TIMEOUT_MS },
    async () => {
      const { util } = createRequire(import.meta.url)('node-red') as Pick<NodeRED, 'util'>;
      const evaluate = compileJsonata(
        { util } as NodeRED,
        {} as RuntimeNode,
        '{"a": payload.a, "b": payload.b, "c": payload.c}',
      );
      await forEachBatch(async (records) => {
        for (const payload of records) {
          const result = await evaluate({ payload }).catch((error: unknown) => error);
          if (result instanceof RecordError) expect(isGood(payload)).toBe(false);
          else if (isGood(payload)) {
            const { a, b, c } = payload;
            expect(result).toEqual([{ a, b, c }]);
          } else expect(result).toHaveLength(1);
        }
      });
    },
  );
});
