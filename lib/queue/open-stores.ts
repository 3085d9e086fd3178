/**
 * The queue files this process has open, each for at most one live node. A redeployed node takes over the store of its
 * predecessor while deliveries of that one are still out, so that their verdicts settle; a store that nobody takes over
 * closes when they have ended, and the next node waits for that before it opens the file again.
 */
import { ConfigError } from '../errors/errors';
import type { QueueStore } from './contract';

const LINGER_MS = 5000;

interface OpenStore {
  readonly opened: Promise<QueueStore>;
  owned: boolean;
  failed: boolean;
  closing: Promise<void> | undefined;
  /** Resolves when the deliveries of earlier owners have been settled. */
  settled: Promise<unknown>;
}

export interface StoreClaim {
  /** Rejects with what `open` rejected with. */
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

  constructor(readonly lingerMs: number = LINGER_MS) {}

  /** Throws ConfigError `ERR_SLUICE_QUEUE_NAME_TAKEN` while another live node has the file. */
  claim(file: string, open: () => Promise<QueueStore>): StoreClaim {
    const present = this.#stores.get(file);
    if (present?.owned) {
      throw new ConfigError(
        'ERR_SLUICE_QUEUE_NAME_TAKEN',
        'Another push queue has this queue name; choose another one',
      );
    }
    const store =
      present !== undefined && !present.failed && present.closing === undefined
        ? present
        : this.#open(file, open, present?.closing);
    store.owned = true;
    let released = false;
    return {
      opened: store.opened,
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

  #open(file: string, open: () => Promise<QueueStore>, before: Promise<void> | undefined): OpenStore {
    const opened = (before ?? Promise.resolve()).then(open);
    const store: OpenStore = {
      opened,
      owned: false,
      failed: false,
      closing: undefined,
      settled: Promise.resolve(),
    };
    opened.catch(() => {
      store.failed = true;
    });
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
    store.closing = store.opened.then((opened) => opened.close()).catch(() => undefined);
    await store.closing;
    if (this.#stores.get(file) === store) this.#stores.delete(file);
  }
}
