import { codeOf } from '../errors/errors';
import type { Inbox } from '../inbox/contract';
import { inboxDamaged } from './inbox-alerts';
import type { InboxClaim, SharedInbox } from './shared-inbox';

/** One source's use of the shared inbox, and why it can't be used at the moment. */
export class SourceInbox {
  /** Rejects only when it is released before the file could be had. */
  readonly opened: Promise<Inbox>;
  /** Resolves when the file is open, or when it is known that it can't be had yet. */
  readonly tried: Promise<void>;
  readonly #claim: InboxClaim;
  #fault: Error | undefined;
  #stopHealth: () => void = () => undefined;
  #released = false;

  constructor(
    shared: SharedInbox,
    private readonly onChange: () => void,
  ) {
    let tried: () => void = () => undefined;
    this.tried = new Promise((resolve) => (tried = resolve));
    this.#claim = shared.claim((fault) => {
      this.#tell(fault);
      tried();
    });
    this.opened = this.#claim.opened.then((inbox) => {
      if (!this.#released) this.#follow(inbox);
      return inbox;
    });
    this.opened.then(tried, tried);
  }

  /** Undefined while it works, and while the first try to open it is under way. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  release(busy: Promise<void> | undefined): Promise<void> {
    this.#released = true;
    this.#stopHealth();
    return this.#claim.release(busy);
  }

  #follow(inbox: Inbox): void {
    let reported: string | undefined;
    const tell = (fault: Error | undefined) => {
      const { quarantinedFile, salvaged } = inbox.totals();
      if (fault || quarantinedFile === undefined || quarantinedFile === reported) return this.#tell(fault);
      reported = quarantinedFile;
      this.#tell(inboxDamaged(quarantinedFile, salvaged));
    };
    tell(undefined);
    this.#stopHealth = inbox.onHealth(tell);
  }

  #tell(fault: Error | undefined): void {
    if (this.#released) return;
    const before = this.#fault;
    this.#fault = fault;
    if ((fault && codeOf(fault)) === (before && codeOf(before))) return;
    this.onChange();
  }
}
