import type { Inbox } from '../inbox/contract';
import { keepOpening, type Opening } from '../sqlite/keep-opening';

const LINGER_MS = 5000;

type FaultListener = (fault: Error) => void;

export interface InboxClaim {
  /** Tried again until it works; rejects only for a claim that was released before. */
  readonly opened: Promise<Inbox>;
  /**
   * Resolves, for the last user, when the file is closed. With `busy`, the records that are still on their way, it stays
   * open for those a while: their verdicts come only after the deploy has stopped all nodes.
   */
  release(busy: Promise<void> | undefined): Promise<void>;
}

/** The runtime's one inbox file, open while a source uses it. A deploy may close and open it again. */
export class SharedInbox {
  readonly #users = new Set<FaultListener>();
  #opening: Opening<Inbox> | undefined;
  /** Why it isn't open yet. */
  #fault: Error | undefined;
  #closing: Promise<void> = Promise.resolve();

  constructor(private readonly open: () => Promise<Inbox>) {}

  /** `onFault` hears why the file can't be opened, each time it is tried, and at once if that is known. */
  claim(onFault: FaultListener): InboxClaim {
    const user: FaultListener = (fault) => onFault(fault);
    this.#users.add(user);
    this.#opening ??= this.#startOpening();
    if (this.#fault) user(this.#fault);
    return { opened: this.#opening.opened, release: (busy) => this.#release(user, busy) };
  }

  #startOpening(): Opening<Inbox> {
    const opening = keepOpening(
      () => this.#closing.then(this.open),
      (fault) => {
        this.#fault = fault;
        for (const user of this.#users) user(fault);
      },
    );
    const isOpen = () => {
      if (this.#opening === opening) this.#fault = undefined;
    };
    opening.opened.then(isOpen, () => undefined);
    return opening;
  }

  async #release(user: FaultListener, busy: Promise<void> | undefined): Promise<void> {
    if (!this.#users.delete(user)) return;
    const closed = this.#closeUnlessUsed(busy);
    if (!busy) await closed;
  }

  async #closeUnlessUsed(busy: Promise<void> | undefined): Promise<void> {
    if (busy) {
      let timer: NodeJS.Timeout | undefined;
      const bound = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LINGER_MS).unref();
      });
      await Promise.race([busy, bound]);
      clearTimeout(timer);
    }
    const opening = this.#opening;
    if (this.#users.size > 0 || !opening) return;
    this.#opening = undefined;
    this.#fault = undefined;
    opening.cancel();
    this.#closing = opening.opened.then((inbox) => inbox.close()).catch(() => undefined);
    await this.#closing;
  }
}
