import { codeOf, StoreError } from '../errors/errors';
import type { Inbox } from '../inbox/contract';
import type { InboxClaim, SharedInbox } from './shared-inbox';

interface InboxLog {
  /** Not for catch nodes: no record has failed. */
  error(text: string): void;
  info(text: string): void;
}

/** One source's use of the shared inbox: why it can't be used at the moment, told to the log once per reason. */
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
    private readonly log: InboxLog,
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
    this.#tell(undefined);
    const { quarantinedFile } = inbox.totals();
    if (quarantinedFile !== undefined) {
      this.#tell(
        new StoreError(
          'ERR_SLUICE_INBOX_CORRUPT',
          `the inbox was damaged and set aside as ${quarantinedFile}; accepted records may be in it`,
        ),
      );
    }
    this.#stopHealth = inbox.onHealth((fault) => this.#tell(fault));
  }

  #tell(fault: Error | undefined): void {
    if (this.#released) return;
    const before = this.#fault;
    this.#fault = fault;
    if ((fault && codeOf(fault)) === (before && codeOf(before))) return;
    if (fault) this.log.error(`${codeOf(fault)}: ${fault.message}`);
    else this.log.info('the inbox works again');
    this.onChange();
  }
}
