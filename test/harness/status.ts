import type { RunningNodeRed } from './node-red';

type Entry = Readonly<Record<string, unknown>>;

export interface StatusBody {
  readonly ready: boolean;
  readonly push_queue: Entry;
  readonly push_status: Entry;
  readonly sinks: readonly Entry[];
  readonly sources: readonly Entry[];
  readonly engine: { readonly webhooks: readonly Entry[]; readonly stats: Entry };
}

/** `GET /sluice/api/status`. */
export async function readStatus({ url }: Pick<RunningNodeRed, 'url'>): Promise<StatusBody> {
  const response = await fetch(`${url}/sluice/api/status`);
  return (await response.json()) as StatusBody;
}

/** The entry of one member by its node id. */
export function entryOf(entries: readonly Entry[], id: string): Entry {
  const found = entries.find((entry) => entry['id'] === id);
  if (!found) throw new Error(`the status has no entry for ${id}`);
  return found;
}
