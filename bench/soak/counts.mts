interface Status {
  readonly sinks: readonly Readonly<Record<string, unknown>>[];
  readonly sources: readonly Readonly<Record<string, unknown>>[];
}

/** What the queue holds, as its status says. */
export interface Counts {
  /** Waiting or on their way. */
  readonly queued: number;
  /** The part of them that is on its way. */
  readonly inFlight: number;
  readonly dead: number;
}

/** Asks until the queue is open: a deploy may have closed it. */
export async function readCounts(url: string): Promise<Counts> {
  for (;;) {
    const status = (await (await fetch(`${url}/sluice/api/status`)).json()) as Status;
    const queue = status.sinks.find(({ id }) => id === 'queue');
    const output = status.sources.find(({ id }) => id === 'queue');
    if (queue?.['state'] === 'open' && output) {
      return {
        queued: Number(queue['records']),
        inFlight: Number(output['in_flight']),
        dead: Number(queue['dead']),
      };
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
