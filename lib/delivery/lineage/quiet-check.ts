import type { Attempt } from './attempt';
import type { Timers } from './timers';

/**
 * Concludes attempts with nothing under way, one turn of the event loop late: core nodes call `done()` before `send()`,
 * and in between the attempt only seems quiet.
 */
export class QuietCheck {
  private due: Attempt[] = [];

  constructor(
    private readonly timers: Timers,
    /** Called at the start of a turn, when no handler is running. */
    private readonly onTurn: () => void,
    private readonly conclude: (attempt: Attempt) => void,
  ) {}

  get size(): number {
    return this.due.length;
  }

  request(attempt: Attempt): void {
    if (attempt.checking || !attempt.launched) return;
    attempt.checking = true;
    if (this.due.push(attempt) === 1) this.timers.soon(() => this.run());
  }

  private run(): void {
    this.onTurn();
    const { due } = this;
    this.due = [];
    for (const attempt of due) {
      attempt.checking = false;
      if (attempt.open && attempt.pending === 0) this.conclude(attempt);
    }
  }
}
