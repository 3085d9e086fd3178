/**
 * The runtime's one dead-letter file. It is opened by the first use, at once where there is one from before (rules that
 * are stopped must be known before a source takes a record), and closed while no flow runs and nothing is going on.
 */
import { existsSync } from 'node:fs';
import { keepOpening, type Opening } from '../sqlite/keep-opening';
import type { DeadLetterStore, Halt, PlaceCounts, PlaceQuota } from './contract';

interface SharedLettersOptions {
  readonly file: string;
  open(): Promise<DeadLetterStore>;
  /** Each time the file can't be had, is lost or works again. */
  onHealth(fault: Error | undefined): void;
  onOpened(store: DeadLetterStore): void;
}

const NO_HALTS: ReadonlyMap<string, Halt> = new Map();

export class SharedLetters {
  #opening: Opening<DeadLetterStore> | undefined;
  #store: DeadLetterStore | undefined;
  /** As the last store had them. */
  #halts = NO_HALTS;
  readonly #quotas = new Map<string, PlaceQuota | undefined>();
  #fault: Error | undefined;
  #known: boolean;
  #closing: Promise<void> = Promise.resolve();
  #uses = 0;
  #resting = false;
  /** Uses that wait for the first try. */
  #waiters: ((fault: Error) => void)[] = [];

  constructor(private readonly options: SharedLettersOptions) {
    this.#known = !existsSync(options.file);
    if (!this.#known) this.#open();
  }

  /** Whether it is known which rules are stopped, as far as it can be. */
  get ready(): boolean {
    return this.#known;
  }

  get halts(): ReadonlyMap<string, Halt> {
    return this.#store?.halts() ?? this.#halts;
  }

  get fault(): Error | undefined {
    return this.#fault;
  }

  counts(place: string): PlaceCounts | undefined {
    return this.#store?.counts(place);
  }

  places(): readonly string[] {
    return this.#store?.places() ?? [];
  }

  /** Bound of a place, whenever the file is open; undefined is the default of its kind. */
  setQuota(place: string, quota: PlaceQuota | undefined): void {
    this.#quotas.set(place, quota);
    this.#store?.setQuota(place, quota);
  }

  /** Runs a call on the store, once that is open. Rejects with why it can't be opened, without waiting for that to end. */
  async use<Result>(call: (store: DeadLetterStore) => Promise<Result>): Promise<Result> {
    this.#uses += 1;
    try {
      if (this.#store) return await call(this.#store);
      const opening = this.#open();
      if (this.#fault) throw this.#fault;
      return await call(await this.#firstTry(opening));
    } finally {
      this.#uses -= 1;
      if (this.#resting) this.#closeUnlessUsed();
    }
  }

  /** Flows run. */
  wake(): void {
    this.#resting = false;
  }

  /** Flows have stopped: the file is let go. A use that comes all the same opens it once more. */
  rest(): void {
    this.#resting = true;
    this.#closeUnlessUsed();
  }

  #firstTry({ opened }: Opening<DeadLetterStore>): Promise<DeadLetterStore> {
    return new Promise((resolve, reject) => {
      this.#waiters.push(reject);
      opened.then(resolve, reject);
    });
  }

  #open(): Opening<DeadLetterStore> {
    if (this.#opening) return this.#opening;
    const opening = keepOpening(
      () => this.#closing.then(() => this.options.open()),
      (fault) => {
        if (this.#opening === opening) this.#setFault(fault);
      },
    );
    this.#opening = opening;
    opening.opened.then(
      (store) => {
        if (this.#opening === opening) this.#opened(store);
      },
      () => undefined,
    );
    return opening;
  }

  #opened(store: DeadLetterStore): void {
    this.#store = store;
    this.#known = true;
    this.#waiters = [];
    for (const [place, quota] of this.#quotas) store.setQuota(place, quota);
    this.#setFault(undefined);
    store.onHealth((fault) => {
      if (this.#store === store) this.#setFault(fault);
    });
    this.options.onOpened(store);
    if (this.#resting) this.#closeUnlessUsed();
  }

  #setFault(fault: Error | undefined): void {
    this.#fault = fault;
    // Whether rules are stopped can't be found out now, and a broken disk mustn't stop every source.
    this.#known = true;
    if (fault) for (const reject of this.#waiters.splice(0)) reject(fault);
    this.options.onHealth(fault);
  }

  #closeUnlessUsed(): void {
    const opening = this.#opening;
    if (this.#uses > 0 || !opening) return;
    const store = this.#store;
    if (store) this.#halts = new Map(store.halts());
    this.#opening = undefined;
    this.#store = undefined;
    this.#fault = undefined;
    opening.cancel();
    this.#closing = opening.opened.then((open) => open.close()).catch(() => undefined);
  }
}
