/**
 * Sends many dead letters again, at a bounded rate. It takes those that were open when it began, oldest first, so it
 * never meets what it fails itself; one that was replayed too often is left to a person, and a row of failures ends it:
 * what is wrong isn't mended then.
 */
import { InputError } from '../errors/errors';
import type { LetterFilter } from './contract';
import type { Replays, ReplayTo } from './replay';
import type { SharedLetters } from './shared-letters';

const PAGE = 200;
const MAX_AT_ONCE = 16;
export const MAX_REPLAYS = 5;
const MAX_FAILURES_IN_A_ROW = 20;
const TELL_MS = 1000;
export const DEFAULT_RATE = 50;

export interface RedriveRequest {
  readonly filter: Pick<LetterFilter, 'rule' | 'place' | 'stage'>;
  /** Letters a second, at most. */
  readonly rate: number;
  readonly to?: ReplayTo | undefined;
}

/** Public, in the API and as an event. */
export interface RedriveProgress {
  readonly state: 'running' | 'done' | 'stopped';
  readonly total: number;
  readonly resolved: number;
  readonly failed: number;
  /** Replayed too often before, or no longer open. */
  readonly skipped: number;
  readonly rate: number;
  /** Unix ms. */
  readonly started_at: number;
  /** Why it stopped, or the last failure. */
  readonly error?: string;
}

interface RedriveDeps {
  readonly letters: SharedLetters;
  readonly replays: Pick<Replays, 'replay'>;
  /** Unix ms. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly tell: (progress: RedriveProgress) => void;
}

export class Redrive {
  #progress: RedriveProgress | undefined;
  #failuresInARow = 0;
  #toldAt = 0;

  constructor(private readonly deps: RedriveDeps) {}

  /** Of the one that is under way, else of the last one since the start. */
  get progress(): RedriveProgress | undefined {
    return this.#progress;
  }

  /** How many would be sent. */
  count(filter: RedriveRequest['filter']): Promise<number> {
    return this.deps.letters.use((store) => store.countOpen(filter));
  }

  /** Begins, and resolves with the first progress. Rejects with ERR_SLUICE_LETTER_REDRIVE_BUSY while another runs. */
  async start(request: RedriveRequest): Promise<RedriveProgress> {
    if (this.#progress?.state === 'running') {
      throw new InputError(
        'ERR_SLUICE_LETTER_REDRIVE_BUSY',
        'a redrive is under way: wait until it has ended',
      );
    }
    this.#failuresInARow = 0;
    const begun: RedriveProgress = {
      state: 'running',
      total: 0,
      resolved: 0,
      failed: 0,
      skipped: 0,
      rate: request.rate,
      started_at: this.deps.now(),
    };
    this.#progress = begun;
    try {
      const total = await this.count(request.filter);
      const [newest] = await this.deps.letters.use((store) => store.list(request.filter, 1));
      this.#note({ total });
      void this.#run(request, newest?.id ?? 0);
      return this.#progress;
    } catch (error) {
      this.#note({ state: 'stopped', error: String(error) });
      throw error;
    }
  }

  async #run(request: RedriveRequest, upToId: number): Promise<void> {
    try {
      await this.#sendAll(request, upToId);
      this.#note({ state: this.#failuresInARow >= MAX_FAILURES_IN_A_ROW ? 'stopped' : 'done' });
    } catch (error) {
      this.#note({ state: 'stopped', error: error instanceof Error ? error.message : String(error) });
    }
    if (this.#progress) this.deps.tell(this.#progress);
  }

  async #sendAll({ filter, rate, to }: RedriveRequest, upToId: number): Promise<void> {
    const underWay = new Set<Promise<void>>();
    const startedAt = this.deps.now();
    let afterId = 0;
    let sent = 0;
    for (;;) {
      const ids = await this.deps.letters.use((store) => store.openIds(filter, afterId, upToId, PAGE));
      if (ids.length === 0) break;
      for (const id of ids) {
        if (this.#failuresInARow >= MAX_FAILURES_IN_A_ROW) break;
        const waitMs = startedAt + (sent * 1000) / rate - this.deps.now();
        if (waitMs > 0) await this.deps.sleep(waitMs);
        while (underWay.size >= MAX_AT_ONCE) await Promise.race(underWay);
        const replay: Promise<void> = this.#send(id, to).finally(() => underWay.delete(replay));
        underWay.add(replay);
        sent += 1;
        afterId = id;
      }
      if (this.#failuresInARow >= MAX_FAILURES_IN_A_ROW) break;
    }
    await Promise.all(underWay);
  }

  async #send(id: number, to: ReplayTo | undefined): Promise<void> {
    try {
      const result = await this.deps.replays.replay(id, { to, maxReplays: MAX_REPLAYS });
      if (result.state === 'skipped') return this.#count('skipped');
      if (result.state === 'resolved') {
        this.#failuresInARow = 0;
        return this.#count('resolved');
      }
      this.#failed(result.reason);
    } catch (error) {
      const isGone = error instanceof InputError && /_(STATE|UNKNOWN)$/.test(error.code);
      if (isGone) return this.#count('skipped');
      this.#failed(error instanceof Error ? error.message : String(error));
    }
  }

  #failed(reason: string): void {
    this.#failuresInARow += 1;
    this.#note({ error: reason });
    this.#count('failed');
  }

  #count(what: 'resolved' | 'failed' | 'skipped'): void {
    this.#note({ [what]: (this.#progress?.[what] ?? 0) + 1 });
    const now = this.deps.now();
    if (!this.#progress || now - this.#toldAt < TELL_MS) return;
    this.#toldAt = now;
    this.deps.tell(this.#progress);
  }

  #note(change: Partial<RedriveProgress>): void {
    if (this.#progress) this.#progress = { ...this.#progress, ...change };
  }
}
