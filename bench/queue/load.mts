import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

export const RECORD_BYTES = 1024;

/** Something that makes records durable; `append` resolves once one is. */
export interface Appender {
  append(record: Buffer): Promise<unknown>;
  close(): Promise<void>;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Acknowledgement of one record, ms. */
  readonly p50: number;
  readonly p99: number;
  /** Delay of the event loop, ms; an idle one has 1.0 by the timer's resolution. */
  readonly loopP99: number;
}

export const median = (values: readonly number[]) => quantile(values, 0.5);

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}

export function medianOf(results: readonly LoadResult[]): LoadResult {
  const of = (name: keyof LoadResult) => median(results.map((result) => result[name]));
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), loopP99: of('loopP99') };
}

/** Records differ, as real ones do: a peer that compresses must not win by it. */
export function makeRecords(count = 256): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const record = Buffer.alloc(RECORD_BYTES);
    for (let at = 0; at < RECORD_BYTES; at++)
      record[at] = 32 + ((at * 7 + index * 31 + ((at * index) >> 3)) % 94);
    return record;
  });
}

const RECORDS = makeRecords();

/** `producers` loops that each append the next record once the one before is acknowledged. */
export async function appendLoad(target: Appender, producers: number, ms: number): Promise<LoadResult> {
  const latencies: number[] = [];
  let count = 0;
  let measuring = false;
  let stopped = false;
  const produce = async (index: number) => {
    const record = RECORDS[index % RECORDS.length] ?? Buffer.alloc(RECORD_BYTES);
    while (!stopped) {
      const start = performance.now();
      await target.append(record);
      if (!measuring) continue;
      count++;
      if (count % 16 === 0) latencies.push(performance.now() - start);
    }
  };
  const all = Promise.all(Array.from({ length: producers }, (_, index) => produce(index)));
  await pause(ms / 4);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  measuring = true;
  const start = performance.now();
  await pause(ms);
  const perSecond = (count * 1000) / (performance.now() - start);
  measuring = false;
  delay.disable();
  stopped = true;
  await all;
  return {
    perSecond,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    loopP99: delay.percentile(99) / 1e6,
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
