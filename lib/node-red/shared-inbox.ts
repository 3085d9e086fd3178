import type { Inbox } from '../inbox/contract';
import { keepOpening, type Opening } from '../sqlite/keep-opening';

const LINGER_MS = 5000;

type FaultListener = (fault: Error) => void;

export interface InboxClaim {
  /** Tried again until it works; rejects only for a claim that was released before. */
  readonly opened: Promise<Inbox>;
  /**
   * Resolves, for the last user, when the file is closed. During a deploy it stays open for the source that takes it
   * over; with `busy`, the records that are still on their way, it stays open for those a while, for their verdicts come
   * only after all nodes have stopped.
   */
  release(busy: Promise<void> | undefined): Promise<void>;
}

/** The runtime's one inbox file, open while a source uses it, and across a deploy. */
export class SharedInbox {
  readonly #users = new Set<FaultListener>();
  #opening: Opening<Inbox> | undefined;
  /** Why it isn't open yet. */
  #fault: Error | undefined;
  #closing: Promise<void> = Promise.resolve();

  /** `deploy`: while one is under way, a promise of its end. */
  constructor(
    private readonly open: () => Promise<Inbox>,
    private readonly deploy: () => Promise<void> | undefined = () => undefined,
  ) {}

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
    // One that can't be had yet is tried at once for the next source, instead of at this one's next try.
    const deployed = this.#fault ? undefined : this.deploy();
    const closed = this.#closeUnlessUsed(busy, deployed);
    if (!busy && !deployed) await closed;
  }

  async #closeUnlessUsed(
    busy: Promise<void> | undefined,
    deployed: Promise<void> | undefined,
  ): Promise<void> {
    await deployed;
    if (busy && this.#users.size === 0) {
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
