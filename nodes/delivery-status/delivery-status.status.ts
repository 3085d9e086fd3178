import type { StatusDocument } from '#lib/api/status-document';
import type { Mood } from '#lib/node-red/status';

const countOf = (entries: StatusDocument['sinks'], level: string) =>
  entries.filter((entry) => entry['level'] === level).length;

/** A mood and a key under `delivery-status.status`: the worst of all sinks. */
export function lookOf({ ready, sinks }: StatusDocument): {
  readonly mood: Mood;
  readonly key: 'paused' | 'full' | 'high' | 'ok';
  readonly values: Readonly<Record<string, number>>;
} {
  const full = countOf(sinks, 'full');
  const high = countOf(sinks, 'high');
  if (!ready) return { mood: 'waiting', key: 'paused', values: {} };
  if (full > 0) return { mood: 'down', key: 'full', values: { count: full } };
  if (high > 0) return { mood: 'waiting', key: 'high', values: { count: high } };
  return { mood: 'ok', key: 'ok', values: { count: sinks.length } };
}

/** The document without what changes by itself: equal texts mean that nothing has happened. */
export function fingerprint(document: StatusDocument): string {
  return JSON.stringify(document, (key, value: unknown) =>
    key === 'oldest_age_secs' || key === 'full_in_secs' || key === 'paused_secs' ? undefined : value,
  );
}
