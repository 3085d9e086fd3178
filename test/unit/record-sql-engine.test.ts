import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigError, DeliveryError } from '#lib/errors/errors';
import { RecordError } from '#lib/record/record-error';
import { SqlEngine } from '#lib/record/sql/engine';
import type { FromSqlWorker, ToSqlWorker } from '#lib/record/sql/protocol';

interface Thread {
  readonly posted: ToSqlWorker[];
  readonly heard: (message: FromSqlWorker) => void;
  readonly gone: (reason: Error) => void;
  ended: boolean;
}

const SPEC = { select: 'SELECT 1', columns: [] };
const turn = () => new Promise((resolve) => setImmediate(resolve));
const settled = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    (error: unknown) => error,
  );

let threads: Thread[];
let engine: SqlEngine;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  threads = [];
  engine = new SqlEngine((heard, gone) => {
    const thread: Thread = { posted: [], heard, gone, ended: false };
    threads.push(thread);
    return { post: (message) => thread.posted.push(message), end: () => (thread.ended = true) };
  });
});
afterEach(() => vi.useRealTimers());

/** A statement that the first thread knows. */
async function opened() {
  const statement = engine.open(SPEC, 1000);
  await turn();
  await makeReady(0);
  return statement;
}
async function makeReady(index: number) {
  threads[index]!.heard({ ready: true });
  expect(threads[index]!.posted.at(-1)).toMatchObject({ prepare: 1 });
  threads[index]!.heard({ prepared: true });
  await turn();
}
const recordsOf = (thread: Thread | undefined) =>
  thread?.posted.map((message) => ('run' in message ? message.records : []));

describe('the SQL engine', () => {
  it('evaluates the records of one turn together, and gives each its own result', async () => {
    const statement = await opened();
    const runs = ['a', 'b', 'c'].map((record) => settled(statement.run(record)));
    await turn();
    expect(recordsOf(threads[0])?.at(-1)).toEqual(['a', 'b', 'c']);
    threads[0]!.heard({ results: [['1'], { code: '22012', message: 'division by zero' }, []] });
    const [first, second, third] = await Promise.all(runs);
    expect([first, third]).toEqual([['1'], []]);
    expect(second).toBeInstanceOf(RecordError);
    expect(second).toMatchObject({
      code: 'ERR_SLUICE_TRANSFORM_FAILED',
      message: 'division by zero (SQLSTATE 22012)',
    });
  });

  it('keeps what comes before it has started, and while a batch is out', async () => {
    const statement = engine.open(SPEC, 1000);
    const first = statement.run('a');
    await turn();
    expect(threads[0]!.posted).toEqual([]);
    await makeReady(0);
    const second = statement.run('b');
    await turn();
    expect(recordsOf(threads[0])).toEqual([[], ['a']]);
    threads[0]!.heard({ results: [['1']] });
    expect(await first).toEqual(['1']);
    threads[0]!.heard({ results: [['2']] });
    expect(await second).toEqual(['2']);
  });

  it('ends a thread that hangs, starts another and fails only the record at fault', async () => {
    const statement = await opened();
    const runs = ['good', 'hangs', 'fine'].map((record) => settled(statement.run(record)));
    await turn();
    await vi.advanceTimersByTimeAsync(1001);
    expect(threads[0]!.ended).toBe(true);
    await makeReady(1);
    expect(recordsOf(threads[1])?.at(-1)).toEqual(['good']);
    threads[1]!.heard({ results: [['1']] });
    expect(recordsOf(threads[1])?.at(-1)).toEqual(['hangs']);
    await vi.advanceTimersByTimeAsync(1001);
    await makeReady(2);
    expect(recordsOf(threads[2])?.at(-1)).toEqual(['fine']);
    threads[2]!.heard({ results: [['3']] });
    const [good, hangs, fine] = await Promise.all(runs);
    expect([good, fine]).toEqual([['1'], ['3']]);
    expect(hangs).toMatchObject({ code: 'ERR_SLUICE_TRANSFORM_TIMEOUT' });
  });

  it('does the same when the thread ends by itself', async () => {
    const statement = await opened();
    const run = settled(statement.run('ends it'));
    await turn();
    threads[0]!.gone(new Error('memory access out of bounds'));
    expect(await run).toBeInstanceOf(RecordError);
    expect(threads.length).toBe(2);
  });

  it('refuses records for now while it does not start, and tries again', async () => {
    const statement = engine.open(SPEC, 1000);
    const run = settled(statement.run('a'));
    await turn();
    threads[0]!.gone(new Error('no memory'));
    expect(await run).toMatchObject({ code: 'ERR_SLUICE_TRANSFORM_ENGINE', failure: 'transient' });
    expect(await settled(statement.run('b'))).toBeInstanceOf(DeliveryError);
    await vi.advanceTimersByTimeAsync(1001);
    expect(threads.length).toBe(2);
    await makeReady(1);
    const again = statement.run('c');
    await turn();
    threads[1]!.heard({ results: [['3']] });
    expect(await again).toEqual(['3']);
  });

  it('fails the records of a statement that the engine refuses with the reason', async () => {
    const statement = engine.open(SPEC, 1000);
    const run = settled(statement.run('a'));
    await turn();
    threads[0]!.heard({ ready: true });
    threads[0]!.heard({ refused: { code: '42703', message: 'column "x" does not exist' } });
    await expect(statement.ready).rejects.toThrow('column "x" does not exist');
    for (const error of [await run, await settled(statement.run('b'))])
      expect(error).toBeInstanceOf(ConfigError);
  });

  it('bounds what waits', async () => {
    const statement = engine.open(SPEC, 1000);
    const runs = Array.from({ length: 10_001 }, (_, index) => settled(statement.run(String(index))));
    expect(await runs[10_000]).toMatchObject({ code: 'ERR_SLUICE_TRANSFORM_BUSY', failure: 'transient' });
    statement.close();
    expect(await runs[0]).toMatchObject({ code: 'ERR_SLUICE_DELIVERY_ABORTED', failure: 'transient' });
  });

  it('ends some time after its last statement was closed, unless another is opened', async () => {
    (await opened()).close();
    await vi.advanceTimersByTimeAsync(20_000);
    const next = engine.open(SPEC, 1000);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(threads[0]!.ended).toBe(false);
    next.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(threads[0]!.ended).toBe(true);
  });
});
