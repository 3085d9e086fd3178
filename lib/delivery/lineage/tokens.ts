/**
 * Tokens: one for each (message object, node) with deliveries under way. A token is opened when a delivery is decided
 * (or a node receives a message directly), and each delivery ends once; an attempt is quiet when it has none left.
 */
import type { RuntimeNode } from '../../node-red/types';
import type { Attempt, Owners } from './attempt';
import type { Incident } from './conclusion';

/** What is known of a message object. */
export class Entry {
  firstToken: Token | undefined;
  /** The error that a catch node turned into this message, or into one that led to it. */
  incident: Incident | undefined;

  constructor(public owners: Owners) {}
}

/** What is known of a node instance. */
export class Place {
  /** Deliveries its handlers have received and not finished. */
  inside = 0;

  constructor(readonly node: RuntimeNode) {}
}

/**
 * What a node did with a delivery: nothing that was seen (a sink, a node that drops it), passed it on, or tried to
 * pass it on with nobody there, as with a disabled node.
 */
export type Passage = 'kept' | 'passed' | 'lost';

export class Token {
  /** Deliveries under way. */
  count = 0;
  /** Of these, how many the node's handler has received. */
  received = 0;
  passage: Passage = 'kept';
  nextOfEntry: Token | undefined;
  nextOfOwner: Token | undefined;
  previousOfOwner: Token | undefined;

  constructor(
    readonly entry: Entry,
    readonly place: Place,
    public owners: Owners,
  ) {}
}

export class Tokens {
  private readonly places = new WeakMap<RuntimeNode, Place>();

  constructor(private readonly onQuiet: (attempt: Attempt) => void) {}

  placeOf(node: RuntimeNode): Place {
    let place = this.places.get(node);
    if (!place) this.places.set(node, (place = new Place(node)));
    return place;
  }

  find(entry: Entry, node: RuntimeNode): Token | undefined {
    let token = entry.firstToken;
    while (token && token.place.node !== node) token = token.nextOfEntry;
    return token;
  }

  /** One more delivery of this message to this node is under way. */
  open(entry: Entry, node: RuntimeNode): Token {
    const token = this.find(entry, node) ?? this.create(entry, node);
    token.count++;
    for (const owner of token.owners) owner.pending++;
    return token;
  }

  receive(token: Token): void {
    token.received++;
    token.place.inside++;
  }

  /** A delivery has ended; false if none was under way (a second `done`). */
  end(token: Token): boolean {
    if (token.count === 0) return false;
    token.count--;
    if (token.received > 0) {
      token.received--;
      token.place.inside--;
    }
    const { owners, passage } = token;
    token.passage = 'kept';
    if (token.count === 0) this.remove(token);
    for (const owner of owners) {
      if (!owner.open) continue;
      if (passage === 'kept') owner.absorbed++;
      if (--owner.pending === 0) this.onQuiet(owner);
    }
    return true;
  }

  /** From now on `attempt` waits for what becomes of this message, too. */
  share(entry: Entry, attempt: Attempt): void {
    entry.owners = [...entry.owners, attempt];
    for (let token = entry.firstToken; token; token = token.nextOfEntry) {
      if (token.owners.includes(attempt)) continue;
      token.owners = [...token.owners, attempt];
      attempt.pending += token.count;
      (attempt.sharedTokens ??= new Set()).add(token);
    }
  }

  private create(entry: Entry, node: RuntimeNode): Token {
    const { owners } = entry;
    const token = new Token(entry, this.placeOf(node), owners);
    token.nextOfEntry = entry.firstToken;
    entry.firstToken = token;
    const [first] = owners;
    token.nextOfOwner = first.firstToken;
    if (first.firstToken) first.firstToken.previousOfOwner = token;
    first.firstToken = token;
    for (let i = 1; i < owners.length; i++) ((owners[i] as Attempt).sharedTokens ??= new Set()).add(token);
    return token;
  }

  private remove(token: Token): void {
    const { entry, owners } = token;
    if (entry.firstToken === token) {
      entry.firstToken = token.nextOfEntry;
    } else {
      let before = entry.firstToken;
      while (before && before.nextOfEntry !== token) before = before.nextOfEntry;
      if (before) before.nextOfEntry = token.nextOfEntry;
    }
    const [first] = owners;
    if (token.previousOfOwner) token.previousOfOwner.nextOfOwner = token.nextOfOwner;
    else if (first.firstToken === token) first.firstToken = token.nextOfOwner;
    if (token.nextOfOwner) token.nextOfOwner.previousOfOwner = token.previousOfOwner;
    token.nextOfOwner = token.previousOfOwner = undefined;
    for (let i = 1; i < owners.length; i++) owners[i]?.sharedTokens?.delete(token);
  }
}
