import { ALERT_KINDS, type AlertKind } from '#lib/config/alert-kinds';
import { number, text, type Conflict, type Fields } from '#lib/config/fields';
import { listOf } from '#lib/config/list';

export interface AlertConfig {
  name: string;
  /** Ids of nodes or tabs, separated by commas; empty is all. `inbox` and `runtime` are the parts that no node owns. */
  scope: string;
  /** Kinds of alerts, separated by commas; empty is all. */
  kinds: string;
  /** Percentage of its bound from which on a queue is told of. */
  highPct: number;
  repeatMinutes: number;
  /** A source without a record for so long is told of; 0 is never. */
  silenceMinutes: number;
}

export const fields: Fields<AlertConfig> = {
  name: text(),
  scope: text(),
  kinds: text(),
  highPct: number(80, { min: 1, max: 100 }),
  repeatMinutes: number(10, { min: 1 }),
  silenceMinutes: number(0),
};

const isKind = (kind: string): kind is AlertKind => (ALERT_KINDS as readonly string[]).includes(kind);

export function problemsOf({ kinds }: AlertConfig): Conflict<AlertConfig>[] {
  const unknown = listOf(kinds).find((kind) => !isKind(kind));
  if (unknown === undefined) return [];
  return [{ property: 'kinds', key: 'unknownKind', text: `has no kind "${unknown.slice(0, 40)}"` }];
}

/** The chosen kinds; all where none is. */
export function kindsOf({ kinds }: AlertConfig): ReadonlySet<AlertKind> {
  const chosen = listOf(kinds).filter(isKind);
  return new Set(chosen.length > 0 ? chosen : ALERT_KINDS);
}
