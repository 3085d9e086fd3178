/**
 * Whose message is this? By the message object, else by its `_msgid` (clones and new objects keep it), else by the
 * async context of the handler that created it. The last is a fallback for messages with an unknown `_msgid` only:
 * pooled connections and shared timers carry the context of whoever used them first.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { takesInput } from '../../node-red/hooks';
import type { Message, RuntimeNode } from '../../node-red/types';
import type { Attempt, Owners } from './attempt';
import { Entry, type Token } from './tokens';

/** How many finished attempts stay known by their `_msgid`, so that late sends are noticed. */
const FINISHED_KEPT = 4096;

export class Resolution {
  /** The delivery whose handler the running code descends from. */
  readonly context = new AsyncLocalStorage<Token | undefined>();
  private readonly entries = new WeakMap<object, Entry>();
  private readonly byMessageId = new Map<string, Attempt>();
  private readonly live = new Set<Attempt>();
  private readonly finished: (Attempt | undefined)[] = [];
  private oldestFinished = 0;

  add(attempt: Attempt, first: Message): void {
    this.live.add(attempt);
    this.byMessageId.set(attempt.id, attempt);
    this.entries.set(first, new Entry(attempt.group));
  }

  finish(attempt: Attempt): void {
    if (!this.live.delete(attempt)) return;
    const forgotten = this.finished[this.oldestFinished];
    if (forgotten) this.forget(forgotten);
    this.finished[this.oldestFinished] = attempt;
    this.oldestFinished = (this.oldestFinished + 1) % FINISHED_KEPT;
  }

  /** Forgets the finished ones, and stops the bookkeeping of async contexts until the next tracked message. */
  rest(): void {
    for (const attempt of this.finished) if (attempt) this.forget(attempt);
    this.finished.length = 0;
    this.oldestFinished = 0;
    this.context.disable();
  }

  attempts(): Iterable<Attempt> {
    return this.live;
  }

  get size(): number {
    return this.live.size;
  }

  /** Attempts known by `_msgid`: live ones and recently finished ones. */
  get known(): number {
    return this.byMessageId.size;
  }

  /** What is known of this very object. */
  entryOf(msg: Message): Entry | undefined {
    return this.entries.get(msg);
  }

  bind(msg: Message, owners: Owners): Entry {
    const entry = new Entry(owners);
    this.entries.set(msg, entry);
    return entry;
  }

  /** Owners of a message that a node received directly, without a send: link call, catch, complete. */
  received(msg: Message, node: RuntimeNode): Entry | undefined {
    const known = this.entries.get(msg);
    if (known && isLive(known.owners)) return known;
    const attempt = this.attemptOf(msg);
    if (attempt && isLive(attempt.group)) return this.bind(msg, attempt.group);
    if (node.type === 'catch') {
      const owners = this.context.getStore()?.owners;
      if (owners && isLive(owners)) return this.bind(msg, owners);
    }
    return known;
  }

  /** Owners of a message that `sender` sends; all of them finished for a late one. */
  sent(msg: Message, sender: RuntimeNode): Entry | undefined {
    const known = this.entries.get(msg);
    if (known && isLive(known.owners)) return known;
    const attempt = this.attemptOf(msg);
    if (attempt && isLive(attempt.group)) return this.bind(msg, attempt.group);
    const owners = takesInput(sender) ? this.context.getStore()?.owners : undefined;
    if (owners && isLive(owners)) return this.bind(msg, owners);
    if (known) return known;
    const late = attempt?.group ?? owners;
    return late && this.bind(msg, late);
  }

  /** Owners of the message that an error names, else of the handler that raised it. */
  blamed(msg: unknown): Owners | undefined {
    if (typeof msg !== 'object' || msg === null) return this.context.getStore()?.owners;
    return this.ownersOf(msg as Message) ?? this.context.getStore()?.owners;
  }

  ownersOf(msg: Message): Owners | undefined {
    return this.entries.get(msg)?.owners ?? this.attemptOf(msg)?.group;
  }

  private forget(attempt: Attempt): void {
    this.byMessageId.delete(attempt.id);
    // Merged attempts refer to each other: without this, a chain of merges would never be freed.
    attempt.group = [attempt];
  }

  private attemptOf(msg: Message): Attempt | undefined {
    const { _msgid } = msg;
    return _msgid === undefined ? undefined : this.byMessageId.get(_msgid);
  }
}

export function isLive(owners: Owners): boolean {
  if (owners[0].open) return true;
  return owners.length > 1 && owners.some((owner) => owner.open);
}
