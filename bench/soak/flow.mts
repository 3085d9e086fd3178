import type { BenchNode } from '../http/flows.mjs';

export const TOKEN = 'soak-token';
export const SOURCE = 'soak';

const functionOf = (name: string) => ({
  ...{ func: `return { payload: msg.payload }; // ${name}`, outputs: 1, timeout: 0, noerr: 0 },
  ...{ initialize: '', finalize: '', libs: [] },
});

/**
 * The flow as of the deploy of this number, which shows in the names of nodes: changed ones are replaced. All of them
 * are in turn; with its token for the first start only, for a deploy keeps the credentials it doesn't name.
 */
export function soakFlow(destination: string, deploy: number, token?: string): BenchNode[] {
  const name = (every: number) => String(Math.floor(deploy / every));
  const node = (id: string, type: string, wires: string[][], more: object): BenchNode => ({
    ...{ id, type, z: 'tab', x: 100, y: 100, wires },
    ...more,
  });
  return [
    { id: 'tab', type: 'tab', label: 'soak' },
    node('in', 'ingest-api', [['before']], {
      ...{ name: name(5), source: SOURCE, maxInFlight: 10_000 },
      ...(token !== undefined && { credentials: { token } }),
    }),
    node('before', 'function', [['queue']], { name: name(1), ...functionOf(name(1)) }),
    node('queue', 'push-queue', [['after'], []], {
      ...{ name: 'push', queue: 'push', onFull: 'block', maxQuotaMb: 64, keyProperty: name(3) },
      ...{ retryInitialMs: 100, retryMaxMs: 1000, maxInFlight: 1000 },
    }),
    node('after', 'function', [['sink']], { name: name(2), ...functionOf(name(2)) }),
    node('sink', 'rest-sink', [[]], {
      ...{ name: `rest${name(4)}`, url: destination, concurrency: 8, batch: 50, maxBacklog: 2000 },
    }),
  ];
}
