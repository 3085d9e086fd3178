/**
 * The queue files this process has open, each for at most one live node. A redeployed node takes over the store of its
 * predecessor while deliveries of that one are still out, so that their verdicts settle; a store that nobody takes over
 * closes when they have ended, and the next node waits for that before it opens the file again.
 */
import { ConfigError } from '../errors/errors';
import { keepOpening, type Opening, type RetryTimers } from '../sqlite/keep-opening';
import type { QueueStore } from './contract';

const LINGER_MS = 5000;

interface OpenStore {
  readonly opening: Opening<QueueStore>;
  /** The present owner's. */
  onFault: (fault: Error) => void;
  owned: boolean;
  closing: Promise<void> | undefined;
  /** Resolves when the deliveries of earlier owners have been settled. */
  settled: Promise<unknown>;
}

export interface StoreClaim {
  /** Tried again until it works; rejects only for a claim that was released before. */
  readonly opened: Promise<QueueStore>;
  /** Resolves when the deliveries of earlier owners have been settled. */
  readonly predecessorSettled: Promise<unknown>;
  /**
   * Gives the file up. `settled` resolves when the owner's deliveries have ended. `close: now` (there are none) waits for
   * the file to be closed; `linger` keeps a store that is lost when it closes open for a while, for the next owner.
   */
  release(settled: Promise<void>, close: 'now' | 'when_settled' | 'linger'): Promise<void>;
}

export class OpenStores {
  readonly #stores = new Map<string, OpenStore>();

  constructor(
    readonly lingerMs: number = LINGER_MS,
    readonly retryTimers?: RetryTimers,
  ) {}

  /**
   * Throws ConfigError `ERR_SLUICE_QUEUE_NAME_TAKEN` while another live node has the file. `onFault` hears why the file
   * could not be opened, each time it is tried.
   */
  claim(
    file: string,
    open: () => Promise<QueueStore>,
    onFault: (fault: Error) => void = () => undefined,
  ): StoreClaim {
    const present = this.#stores.get(file);
    if (present?.owned) {
      throw new ConfigError(
        'ERR_SLUICE_QUEUE_NAME_TAKEN',
        'Another push queue has this queue name; choose another one',
      );
    }
    const store =
      present !== undefined && present.closing === undefined
        ? present
        : this.#open(file, open, present?.closing);
    store.owned = true;
    store.onFault = onFault;
    let released = false;
    return {
      opened: store.opening.opened,
      predecessorSettled: store.settled,
      release: async (settled, close) => {
        if (released) return;
        released = true;
        store.owned = false;
        store.settled = Promise.all([store.settled, settled]);
        const closed = this.#closeLater(file, store, close === 'linger');
        if (close === 'now') await closed;
      },
    };
  }

  #open(file: string, open: () => Promise<QueueStore>, before: Promise<void> = Promise.resolve()): OpenStore {
    const store: OpenStore = {
      opening: keepOpening(
        () => before.then(open),
        (fault) => store.onFault(fault),
        this.retryTimers,
      ),
      onFault: () => undefined,
      owned: false,
      closing: undefined,
      settled: Promise.resolve(),
    };
    this.#stores.set(file, store);
    return store;
  }

  async #closeLater(file: string, store: OpenStore, linger: boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.lingerMs).unref();
    });
    await (linger ? bound : Promise.race([store.settled, bound]));
    clearTimeout(timer);
    if (store.owned || store.closing !== undefined) return;
    store.opening.cancel();
    store.closing = store.opening.opened.then((opened) => opened.close()).catch(() => undefined);
    await store.closing;
    if (this.#stores.get(file) === store) this.#stores.delete(file);
  }
}
