/**
 * Nodes like join and batch take several messages and send one. When a node finishes an input that it didn't pass on
 * itself, in the same macrotask in which it sent another attempt's message, that input went into the message: its
 * attempt then waits for the message, too. A wider scope than the macrotask would tie unrelated messages together.
 */
import { isLive } from './resolution';
import type { Entry, Place, Token, Tokens } from './tokens';

export class Aggregation {
  private sends: { readonly place: Place; readonly entry: Entry }[] = [];

  constructor(private readonly tokens: Tokens) {}

  get size(): number {
    return this.sends.length;
  }

  /** A node has sent a message. Only one that holds other inputs can have merged any of them into it. */
  sent(place: Place, entry: Entry): void {
    if (place.inside <= 1) return;
    if (this.sends.push({ place, entry }) > 1) return;
    // A tick queued by a microtask runs when the macrotask's microtasks are through, before the next macrotask.
    queueMicrotask(() => process.nextTick(() => (this.sends = [])));
  }

  /** A node has finished an input without error, before that is counted. */
  finishing(token: Token): void {
    if (token.passage !== 'kept') return;
    for (const { place, entry } of this.sends) {
      if (place !== token.place || !isLive(entry.owners)) continue;
      for (const owner of token.owners) {
        if (!owner.open || entry.owners.includes(owner)) continue;
        this.tokens.share(entry, owner);
        const [first] = entry.owners;
        if (!first.group.includes(owner)) first.group = [...first.group, owner];
        token.passage = 'passed';
      }
    }
  }
}
