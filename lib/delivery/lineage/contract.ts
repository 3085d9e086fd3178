import type { Message, RuntimeNode } from '../../node-red/types';
import type { FailureClass } from '../../errors/errors';
import type { Hold } from '../contract';
import type { Stamp } from '../stamp';
import type { Verdict } from '../verdict';

/** How a sink that remembers keys tells the same record, sent again, from a new one. */
export interface Repeat {
  /** What the record was taken from, such as a queue's row: only from there can it come again. May be empty. */
  readonly scope: string;
  /** Unix ms: what was stored before is another record. */
  readonly since: number;
  /** `msg.headers` as the source set it. It differs each time a sender sends, and is no other data for that. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

export interface TrackOptions {
  readonly stamp: Stamp;
  /** Identity of this record: its source and its id there, the same on every retry. It makes delivery ids repeatable. */
  readonly origin: string;
  /** After this long without a verdict it is `unknown`. 0 = never. */
  readonly timeoutMs: number;
  /** Output to send on. */
  readonly port?: number;
  /** Room reserved at the door, by sink id; what is left is released with the verdict. */
  readonly holds?: ReadonlyMap<string, Hold>;
  /** The queue row this delivery comes from: sent back into that queue, it is exempt from the quota. */
  readonly lease?: { readonly queueId: string; readonly seq: number };
  /** Without it nothing is taken for a repeat. */
  readonly repeat?: Repeat;
  /** The origin was told that the record is safe: it must not be dropped, whatever a rule says. */
  readonly accepted?: boolean;
  /** Replay of the dead letter with this id: a failure leaves that one open and makes no other. */
  readonly replayOf?: number;
  /** A dead letter on its way out of a dlq node: its failures end there. */
  readonly deadLetter?: boolean;
  /** Receives the message itself, in place of what `node` is wired to. */
  readonly into?: RuntimeNode;
  /** Take a node without completion signal as finished when its handler returns. */
  readonly treatLegacyAsDone?: boolean;
}

/** What a sink can learn of a tracked message that reached it. */
export interface Trace {
  readonly stamp: Stamp;
  readonly lease: TrackOptions['lease'];
  /** Undefined for a message that several records were merged into. */
  readonly repeat: Repeat | undefined;
  /** Releases the room held at the door for this sink; the sink then reserves what the record really needs. */
  takeHold(sinkId: string): void;
  /**
   * Id of this delivery: origin + digest of the bytes + how often this sink saw that digest within the attempt.
   * The same on every retry; different data never share one. At most 64 ASCII characters.
   */
  deliveryId(sinkId: string, bytes: Uint8Array): string;
  /** Node that admitted the record. */
  readonly source: RuntimeNode;
  readonly origin: string;
  readonly accepted: boolean;
  readonly replayOf: number | undefined;
  readonly deadLetter: boolean;
  /** Class of the error that led the message here by a catch node, if that is how it came. */
  readonly caught: FailureClass | undefined;
  /** That error. */
  readonly caughtError: unknown;
  /** Whether the node that raised it kept the record in the dead letters. */
  readonly caughtKept: boolean;
  /** Says that the sink has stored the message for good: the error that led it here then fails the record no more. */
  custody(): void;
  /** Stops the delivery timeout while one of our sinks holds the record; call the result to let it run on. */
  pauseTimeout(): () => void;
}

/** Gives each tracked record a verdict once everything that it caused in the flow has finished. */
export interface Lineage {
  /** Sends a message from a source and follows it. Never rejects. */
  send(node: RuntimeNode, msg: Message, options: TrackOptions): Promise<Verdict>;
  /** The trace of a message at a sink, or undefined for one that no source of ours admitted. */
  traceOf(msg: Message): Trace | undefined;
  /**
   * A node is about to complete this message with this error, and the record is in the dead letters: it has failed, but
   * nobody else has to keep it.
   */
  markKept(msg: Message, error: Error): void;
  /** Records being followed now. */
  readonly active: number;
}
