/**
 * The queue files this process has open, each for at most one live node. A redeployed node takes over the store of its
 * predecessor, whose deliveries may still be out, so that their verdicts settle; a store that nobody takes over closes
 * when they have ended, and the next node waits for that before it opens the file again.
 */
import { ConfigError } from '../errors/errors';
import { keepOpening, type Opening, type RetryTimers } from '../sqlite/keep-opening';
import type { QueueStore } from './contract';

const LINGER_MS = 5000;

interface OpenStore {
  readonly opening: Opening<QueueStore>;
  /** The present owner's. */
  onFault: (fault: Error) => void;
  /** The last owner's. */
  onClosing: ((store: QueueStore) => void) | undefined;
  owned: boolean;
  /** Until then the next owner had better try anew than wait for this one's next try. */
  isOpen: boolean;
  closing: Promise<void> | undefined;
  /** Resolves when the deliveries of earlier owners have been settled. */
  settled: Promise<unknown>;
}

type Close = 'now' | 'when_settled' | 'linger' | Promise<void>;

export interface StoreClaim {
  /** Tried again until it works; rejects only for a claim that was released before. */
  readonly opened: Promise<QueueStore>;
  /** Resolves when the deliveries of earlier owners have been settled. */
  readonly predecessorSettled: Promise<unknown>;
  /**
   * Gives the file up. `settled` resolves when the owner's deliveries have ended. `close: now` (there are none) waits for
   * the file to be closed; `linger` keeps a store that is lost when it closes open for a while, for the next owner. A
   * promise, the deploy's end, keeps an open store until then. `onClosing` hears of a store that nobody took over.
   */
  release(settled: Promise<void>, close: Close, onClosing?: (store: QueueStore) => void): Promise<void>;
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
      release: async (settled, wanted, onClosing) => {
        if (released) return;
        released = true;
        store.owned = false;
        store.onClosing = onClosing;
        store.settled = Promise.all([store.settled, settled]);
        const close = wanted instanceof Promise && !store.isOpen ? 'now' : wanted;
        const closed = this.#closeLater(file, store, close);
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
      onClosing: undefined,
      owned: false,
      isOpen: false,
      closing: undefined,
      settled: Promise.resolve(),
    };
    store.opening.opened.then(
      () => (store.isOpen = true),
      () => undefined,
    );
    this.#stores.set(file, store);
    return store;
  }

  async #closeLater(file: string, store: OpenStore, close: Close): Promise<void> {
    if (close instanceof Promise) {
      await close;
      if (store.owned) return;
    }
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.lingerMs).unref();
    });
    await (close === 'linger' ? bound : Promise.race([store.settled, bound]));
    clearTimeout(timer);
    if (store.owned || store.closing !== undefined) return;
    store.opening.cancel();
    store.closing = store.opening.opened
      .then((opened) => {
        store.onClosing?.(opened);
        return opened.close();
      })
      .catch(() => undefined);
    await store.closing;
    if (this.#stores.get(file) === store) this.#stores.delete(file);
  }
}
