/** Sends a dead letter again: to the node that failed, or from the source that admitted it. */
import type { Lineage } from '../delivery/lineage/contract';
import type { Stamp } from '../delivery/stamp';
import type { Verdict } from '../delivery/verdict';
import { InputError, ownCodeOf } from '../errors/errors';
import type { Message, RuntimeNode } from '../node-red/types';
import { decodeRecord } from '../queue/record-format';
import type { LastReplay, LetterWithRecord } from './contract';
import type { SharedLetters } from './shared-letters';

/** What a destination may take, its own retries included. */
const TIMEOUT_MS = 60_000;

export type ReplayTo = 'node' | 'source';

export interface ReplayOptions {
  /** Without it: the node that failed, where one did. */
  readonly to?: ReplayTo | undefined;
  /** Takes the place of the record's own. */
  readonly edited?: { readonly payload: unknown } | undefined;
  /** Leaves a letter alone that was replayed this often. */
  readonly maxReplays?: number;
}

export type ReplayResult =
  | { readonly state: 'resolved' }
  | { readonly state: 'open'; readonly code: string; readonly reason: string }
  /** It was left alone. */
  | { readonly state: 'skipped' };

interface ReplayDeps {
  readonly letters: SharedLetters;
  readonly lineage: Pick<Lineage, 'send'>;
  readonly getNode: (id: string) => RuntimeNode | null;
  /** Unix ms. */
  readonly now: () => number;
}

export class Replays {
  constructor(private readonly deps: ReplayDeps) {}

  /**
   * Resolves with how it ended. Rejects with InputError ERR_SLUICE_LETTER_UNKNOWN, _STATE, _NOT_REPLAYABLE or _NODE_GONE;
   * then nothing was sent. Of two at once one is sent.
   */
  async replay(id: number, { to, edited, maxReplays }: ReplayOptions = {}): Promise<ReplayResult> {
    const { letters, lineage } = this.deps;
    const letter = await letters.use((store) => store.get(id));
    if (!letter) throw unknownLetter(id);
    if (maxReplays !== undefined && letter.replays >= maxReplays) return { state: 'skipped' };
    const goal = to ?? (letter.target.node === undefined ? 'source' : 'node');
    const node = this.#nodeFor(letter, goal);
    const msg = messageOf(letter, edited);
    if (!(await letters.use((store) => store.claim(id)))) throw notOpen(id, letter);
    let verdict: Verdict;
    try {
      verdict = await lineage.send(node, msg, {
        stamp: stampOf(letter),
        origin: letter.target.origin ?? `dead-letter ${id}`,
        timeoutMs: TIMEOUT_MS,
        accepted: true,
        replayOf: id,
        ...(goal === 'node' && { into: node }),
      });
    } catch (cause) {
      await letters.use((store) => store.change(id, 'replaying', 'open'));
      throw cause;
    }
    if (verdict.kind === 'done') {
      await letters.use((store) => store.change(id, 'replaying', 'resolved'));
      return { state: 'resolved' };
    }
    const why = whyOf(verdict);
    const nodeId = verdict.kind === 'failed' ? verdict.nodeId : undefined;
    const lastReplay: LastReplay = {
      at: this.deps.now(),
      error: why.reason,
      error_code: why.code,
      ...(nodeId !== undefined && { node_id: nodeId }),
    };
    await letters.use((store) => store.change(id, 'replaying', 'open', lastReplay));
    return { state: 'open', ...why };
  }

  #nodeFor({ id, target }: LetterWithRecord, goal: ReplayTo): RuntimeNode {
    const wanted = target[goal];
    const node = wanted === undefined ? null : this.deps.getNode(wanted);
    if (node) return node;
    const other: ReplayTo = goal === 'node' ? 'source' : 'node';
    const offer = target[other];
    const hint =
      offer !== undefined && this.deps.getNode(offer)
        ? `replay it ${other === 'source' ? 'from its source' : 'to the node that failed'}: {"to":"${other}"}`
        : 'deploy it again first';
    const what =
      wanted === undefined ? `has no ${goal}` : `was of ${goal} ${wanted}, which doesn't run any longer`;
    throw new InputError('ERR_SLUICE_LETTER_NODE_GONE', `dead letter ${id} ${what}; ${hint}`);
  }
}

/** What was kept, or an edited payload in its place. */
function messageOf({ id, record, envelope }: LetterWithRecord, edited: ReplayOptions['edited']): Message {
  if (record.byteLength > 0) {
    const msg = decodeRecord(record);
    return edited ? { ...msg, payload: edited.payload } : msg;
  }
  if (edited) return { topic: envelope.source, payload: edited.payload };
  const why = envelope.not_replayable ?? 'it was not kept';
  throw new InputError(
    'ERR_SLUICE_LETTER_NOT_REPLAYABLE',
    `the record of dead letter ${id} can't be sent again: ${why}; send it with a payload of your own, or have the sender do it`,
  );
}

/** The record keeps its id, so that destinations recognise it. */
function stampOf({ id, envelope, target, replays }: LetterWithRecord): Stamp {
  return {
    id: envelope.record_id ?? `dead-letter-${id}`,
    source: envelope.source ?? 'replay',
    receivedAt: target.receivedAt ?? envelope.timestamp,
    attempt: (envelope.attempts ?? 1) + replays + 1,
    ...(target.key !== undefined && { key: target.key }),
  };
}

function whyOf(verdict: Exclude<Verdict, { kind: 'done' }>): {
  readonly code: string;
  readonly reason: string;
} {
  if (verdict.kind !== 'failed') return { code: verdict.reason, reason: `its outcome is ${verdict.kind}` };
  return { code: ownCodeOf(verdict.error) ?? 'ERR_SLUICE_DELIVERY_FAILED', reason: verdict.error.message };
}

export function unknownLetter(id: number | string): InputError {
  return new InputError('ERR_SLUICE_LETTER_UNKNOWN', `there is no dead letter ${id}`);
}

function notOpen(id: number, { state }: LetterWithRecord): InputError {
  const now = state === 'open' ? 'being replayed' : state;
  return new InputError(
    'ERR_SLUICE_LETTER_STATE',
    `dead letter ${id} is ${now}: only an open one can be replayed`,
  );
}
