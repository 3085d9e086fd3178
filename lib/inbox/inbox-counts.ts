import type { SourceCounts } from './batch';
import type { InboxCounts } from './contract';

const NOTHING: InboxCounts = { pending: 0, parked: 0, bytes: 0, oldestAcceptedAt: undefined };

/** Counts by source as of the last commit. */
export class InboxCounters {
  readonly #bySource = new Map<string, InboxCounts>();

  update(changed: readonly SourceCounts[]): void {
    for (const { source, ...counts } of changed) this.#bySource.set(source, counts);
  }

  replace(all: readonly SourceCounts[]): void {
    this.#bySource.clear();
    this.update(all);
  }

  of(source: string): InboxCounts {
    return this.#bySource.get(source) ?? NOTHING;
  }

  sum(): InboxCounts {
    let { pending, parked, bytes, oldestAcceptedAt } = NOTHING;
    for (const counts of this.#bySource.values()) {
      pending += counts.pending;
      parked += counts.parked;
      bytes += counts.bytes;
      const oldest = counts.oldestAcceptedAt;
      if (oldest !== undefined && oldest < (oldestAcceptedAt ?? Infinity)) oldestAcceptedAt = oldest;
    }
    return { pending, parked, bytes, oldestAcceptedAt };
  }
}
