import type { Inbox } from '../inbox/contract';

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

  /** Resolves, for the last user, when the file is closed. */
  async release(): Promise<void> {
    this.#users -= 1;
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
