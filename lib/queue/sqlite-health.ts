import type { StoreError } from '../errors/errors';

const PROBE_MS = 1000;

type Listener = (fault: Error | undefined) => void;

/** Whether the file works, told once per change, and found out again each second while it doesn't. */
export class Health {
  readonly #listeners = new Set<Listener>();
  #fault: StoreError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `probe` writes something; it gives the fault that remains, and rejects when there is nobody to ask. */
  constructor(
    private readonly probe: () => Promise<StoreError | undefined>,
    private readonly onRecovered: () => void,
  ) {}

  /** Only a new worker and a probe may report `undefined`: on a nearly full disk one write succeeds, the next fails. */
  report(fault: StoreError | undefined): void {
    const before = this.#fault;
    this.#fault = fault;
    this.#probeLater();
    if (fault?.code === before?.code) return;
    for (const listener of this.#listeners) listener(fault);
    if (!fault) this.onRecovered();
  }

  /** A fault of now is told at once. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#fault) listener(this.#fault);
    this.#probeLater();
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #probeLater(): void {
    // A damaged file is no passing state: it stays until someone was told.
    const untold = this.#listeners.size === 0 && this.#fault?.code === 'ERR_SLUICE_QUEUE_CORRUPT';
    if (!this.#fault || this.#timer || this.#stopped || untold) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#fault) return;
      this.probe().then(
        (fault) => this.report(fault),
        () => this.#probeLater(),
      );
    }, PROBE_MS);
  }
}
