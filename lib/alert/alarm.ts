import { levelOf, type Fill, type Level } from './levels';

/** A bounded queue's numbers, in its own unit; `refusedOrEvicted` only grows. */
export interface Gauge {
  readonly used: number;
  readonly limit: number;
  readonly refusedOrEvicted: number;
}

/** The level of one bounded queue. The alert centre looks at it periodically; in between, anyone may read it. */
export class Alarm {
  #seen = 0;

  /** `read` gives undefined while the numbers aren't known yet, as of a queue that is being opened. */
  constructor(readonly read: () => Gauge | undefined) {}

  /** The level now, with what happened since the centre's last look; reading it consumes nothing. */
  get level(): Level {
    const fill = this.#fill(this.read());
    return fill ? levelOf(fill) : 'ok';
  }

  /** The centre's look: what was refused or evicted until now doesn't count for the next one. */
  look(): Fill | undefined {
    const gauge = this.read();
    const fill = this.#fill(gauge);
    this.#seen = gauge?.refusedOrEvicted ?? this.#seen;
    return fill;
  }

  #fill(gauge: Gauge | undefined): Fill | undefined {
    if (!gauge) return undefined;
    const { used, limit, refusedOrEvicted } = gauge;
    return { used, limit, refusedOrEvictedSinceLastCheck: refusedOrEvicted - this.#seen };
  }
}
