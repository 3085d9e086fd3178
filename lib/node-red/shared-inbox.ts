import type { Inbox } from '../inbox/contract';

const LINGER_MS = 5000;

/** The runtime's one inbox file, open while a source uses it. A deploy may close and open it again. */
export class SharedInbox {
  #users = 0;
  #opened: Promise<Inbox> | undefined;
  #closing: Promise<void> = Promise.resolve();

  constructor(private readonly open: () => Promise<Inbox>) {}

  /** Each call needs one `release`. Rejects with StoreError when the file can't be used. */
  use(): Promise<Inbox> {
    this.#users += 1;
    this.#opened ??= this.#closing.then(this.open);
    return this.#opened;
  }

  /**
   * Resolves, for the last user, when the file is closed. With `busy`, the records that are still on their way, it stays
   * open for those a while: their verdicts come only after the deploy has stopped all nodes.
   */
  async release(busy: Promise<void> | undefined): Promise<void> {
    this.#users -= 1;
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
    const opened = this.#opened;
    if (this.#users > 0 || !opened) return;
    this.#opened = undefined;
    this.#closing = opened.then(
      (inbox) => inbox.close(),
      () => undefined,
    );
    await this.#closing;
  }
}
