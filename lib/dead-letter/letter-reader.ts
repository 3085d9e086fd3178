/** Reads letters back, in the worker. */
import type Database from 'better-sqlite3';
import { STAGES } from '../errors/stages';
import {
  LETTER_STATES,
  type Envelope,
  type LastReplay,
  type Letter,
  type LetterFilter,
  type LetterWithRecord,
  type ReplayTarget,
} from './contract';
import { withDerived } from './shown-payload';
import type { PlaceTotals } from './place-totals';

/** Bounds what one read hands over, whatever the number asked for. */
const MAX_READ_BYTES = 8 * 2 ** 20;

interface Row {
  readonly id: number;
  readonly place: number;
  readonly state: number;
  readonly changed_at: number;
  readonly replays: number;
  readonly last_replay: string | null;
  readonly target: string;
  readonly envelope: string;
  readonly derived: number;
  readonly record: Buffer;
}

const COLUMNS = 'id, place, state, changed_at, replays, last_replay, target, envelope, derived, record';

export class LetterReader {
  constructor(
    private readonly db: Database.Database,
    private readonly totals: PlaceTotals,
  ) {}

  get(id: number): LetterWithRecord | undefined {
    const row = this.db.prepare<[number], Row>(`SELECT ${COLUMNS} FROM letter WHERE id = ?`).get(id);
    return row && { ...this.#letter(row), record: row.record };
  }

  list(filter: LetterFilter, limit: number): Letter[] {
    const { where, values } = this.#condition(filter);
    const rows = this.db
      .prepare<(string | number)[], Row>(`SELECT ${COLUMNS} FROM letter ${where} ORDER BY id DESC LIMIT ?`)
      .iterate(...values, limit);
    const letters: Letter[] = [];
    let bytes = 0;
    for (const row of rows) {
      letters.push(this.#letter(row));
      bytes += row.envelope.length + row.record.byteLength;
      if (bytes >= MAX_READ_BYTES) break;
    }
    return letters;
  }

  openIds(filter: LetterFilter, afterId: number, upToId: number, limit: number): number[] {
    const { where, values } = this.#condition({ ...filter, state: 'open' });
    return this.db
      .prepare<(string | number)[], { id: number }>(
        `SELECT id FROM letter ${where} AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
      )
      .all(...values, afterId, upToId, limit)
      .map(({ id }) => id);
  }

  countOpen(filter: LetterFilter): number {
    const { where, values } = this.#condition({ ...filter, state: 'open' });
    const row = this.db
      .prepare<(string | number)[], { n: number }>(`SELECT count(*) AS n FROM letter ${where}`)
      .get(...values);
    return row?.n ?? 0;
  }

  #condition({ rule, place, state, stage, beforeId }: LetterFilter) {
    const terms: string[] = [];
    const values: (string | number)[] = [];
    const add = (term: string, value: string | number | undefined) => {
      if (value === undefined) return;
      terms.push(term);
      values.push(value);
    };
    add('rule = ?', rule);
    add('place = ?', place === undefined ? undefined : (this.totals.find(place) ?? -1));
    add('state = ?', state && LETTER_STATES.indexOf(state));
    add('stage = ?', stage && STAGES[stage].number);
    add('id < ?', beforeId);
    return { where: terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`, values };
  }

  #letter(row: Row): Letter {
    const { id, place, state, changed_at, replays, last_replay, target } = row;
    return {
      id,
      place: this.totals.nameOf(place),
      state: LETTER_STATES[state] ?? 'open',
      replays,
      lastReplay: last_replay === null ? undefined : (JSON.parse(last_replay) as LastReplay),
      changedAt: changed_at,
      target: JSON.parse(target) as ReplayTarget,
      envelope: shownEnvelope(row),
    };
  }
}

/** A record that can't be read any more takes nothing from the rest of its letter. */
function shownEnvelope({ envelope, derived, record }: Row): Envelope {
  const stored = JSON.parse(envelope) as Envelope;
  try {
    return withDerived(stored, { raw: (derived & 1) !== 0, tuple: (derived & 2) !== 0 }, record);
  } catch {
    return stored;
  }
}
