import { describe, expect, it } from 'vitest';
import { readConfig } from '#lib/config/read-config';
import { backlogRowsOf } from '#lib/config/batch-sink';
import * as clickhouse from '#nodes/clickhouse-sink/clickhouse-sink.config';
import * as postgres from '#nodes/postgres-sink/postgres-sink.config';

const read = {
  'clickhouse-sink': (saved: object) =>
    readConfig(clickhouse.fields, { server: 'db', table: 'readings', ...saved }, clickhouse.problemsOf),
  'postgres-sink': (saved: object) =>
    readConfig(postgres.fields, { server: 'db', table: 'readings', ...saved }, postgres.problemsOf),
};

describe.each(['clickhouse-sink', 'postgres-sink'] as const)('the configuration of %s', (type) => {
  it.each([
    [{}, 20_000],
    [{ batchRows: 1 }, 10_000],
    [{ batchRows: 500 }, 10_000],
    [{ batchRows: 501 }, 10_020],
    [{ batchRows: '2500' }, 50_000],
    [{ maxBacklogRows: 1000 }, 1000],
    [{ maxBacklogRows: '50000' }, 50_000],
  ])('O45 O46 bounds the backlog by max(batchRows x 20, 10000), or as told: %j', (saved, rows) => {
    expect(backlogRowsOf(read[type](saved))).toBe(rows);
  });

  it('O47 evicts the oldest unless told to block', () => {
    expect(read[type]({}).onFull).toBe('evict_oldest');
    expect(read[type]({ onFull: 'block' }).onFull).toBe('block');
    expect(() => read[type]({ onFull: 'drop' })).toThrow(/onFull/);
  });

  it('O50 has a table, batches of 1,000 rows, a second or 8 MiB, and a backlog', () => {
    expect(read[type]({})).toMatchObject({
      table: 'readings',
      batchRows: 1000,
      batchMs: 1000,
      batchBytes: 8 * 1024 * 1024,
      maxBacklogRows: 0,
      insertTimeoutMs: 30_000,
      dedup: true,
    });
  });

  it.each([
    [{ table: '' }, /table/],
    [{ table: 'readings; DROP TABLE readings' }, /table/],
    [{ server: '' }, /server/],
    [{ batchRows: 0 }, /batchRows/],
    [{ maxBacklogRows: 999 }, /maxBacklogRows/],
    [{ columns: 'id' }, /columns/],
  ])('refuses %j and names the property', (saved, property) => {
    expect(() => read[type](saved)).toThrow(property);
  });

  it.each(['', 'id = sluice.id', ' id=a.b[0] \r\n\r\nunit = topic\n', '\n\n', 'a = b=c'])(
    'takes columns as lines: %j',
    (columns) => expect(read[type]({ columns }).columns).toBe(columns.trim()),
  );

  it('checks columns in no time, whatever they are', () => {
    const startedAt = performance.now();
    for (const hostile of ['\n'.repeat(50_000), ' '.repeat(50_000), 'a = b\n'.repeat(10_000)]) {
      expect(() => read[type]({ columns: `a = b\n${hostile}x` })).toThrow(/columns/);
    }
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});
