/**
 * Many timeouts, one timer. Timeouts are hashed into slots by the tick in which they are due; one interval moves the
 * hand while anything is waiting. A timeout is never early, and late by one tick at most.
 */
import type { Timers } from './timers';

const TICK_MS = 50;
const SLOTS = 512;

interface Waiting {
  readonly dueTick: number;
  readonly expire: () => void;
}

export class TimerWheel {
  private readonly slots = Array.from({ length: SLOTS }, () => new Set<Waiting>());
  private waiting = 0;
  private hand = 0;
  private stopTimer: (() => void) | undefined;

  constructor(private readonly timers: Timers) {}

  /** How many timeouts are running. */
  get size(): number {
    return this.waiting;
  }

  /** Calls `expire` once after `delayMs`, unless the result is called before. */
  start(delayMs: number, expire: () => void): () => void {
    if (!this.stopTimer) this.hand = this.tickOf(this.timers.now());
    const entry: Waiting = { dueTick: Math.ceil((this.timers.now() + delayMs) / TICK_MS) + 1, expire };
    const slot = this.slotOf(entry.dueTick);
    slot.add(entry);
    this.waiting++;
    this.stopTimer ??= this.timers.every(TICK_MS, () => this.turn());
    return () => {
      if (slot.delete(entry)) this.left();
    };
  }

  private turn(): void {
    const nowTick = this.tickOf(this.timers.now());
    const first = Math.max(this.hand + 1, nowTick - SLOTS + 1);
    this.hand = nowTick;
    for (let tick = first; tick <= nowTick; tick++) {
      const slot = this.slotOf(tick);
      for (const entry of slot) {
        if (entry.dueTick > nowTick || !slot.delete(entry)) continue;
        this.left();
        entry.expire();
      }
    }
  }

  private left(): void {
    if (--this.waiting > 0) return;
    this.stopTimer?.();
    this.stopTimer = undefined;
  }

  private tickOf(timeMs: number): number {
    return Math.floor(timeMs / TICK_MS);
  }

  private slotOf(tick: number): Set<Waiting> {
    return this.slots[tick % SLOTS] as Set<Waiting>;
  }
}
