/**
 * Ends the deliveries of core's `switch`, which never says when it has finished. It works off a queue of its own, one
 * message in each turn of the event loop; ending its deliveries in the same order and pace, one turn behind, keeps a
 * message open until the switch has sent it on. (Ending them when the handler returns makes a burst look done.)
 */
import type { Timers } from './timers';
import type { Place, Token } from './tokens';

export class PacedRelease {
  private readonly lines = new Map<Place, Token[]>();

  constructor(
    private readonly timers: Timers,
    private readonly end: (token: Token) => void,
  ) {}

  /** How many nodes have deliveries waiting to be ended. */
  get size(): number {
    return this.lines.size;
  }

  add(token: Token): void {
    const line = this.lines.get(token.place);
    if (line) {
      line.push(token);
      return;
    }
    this.lines.set(token.place, [token]);
    this.timers.soon(() => this.step(token.place));
  }

  private step(place: Place): void {
    this.timers.soon(() => {
      const line = this.lines.get(place);
      const token = line?.shift();
      if (!line || line.length === 0) this.lines.delete(place);
      else this.step(place);
      if (token) this.end(token);
    });
  }
}
