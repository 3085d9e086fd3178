import { ulid } from 'ulid';
import type { Source } from '#lib/delivery/contract';
import type { Lineage } from '#lib/delivery/lineage/contract';
import type { Stamp } from '#lib/delivery/stamp';
import type { Verdict } from '#lib/delivery/verdict';
import { SluiceError } from '#lib/errors/errors';
import type { Message, RuntimeNode } from '#lib/node-red/types';
import type { LeasedRecord } from '#lib/queue/contract';
import type { Drain } from '#lib/queue/drain';
import { decodeRecord } from '#lib/queue/record-format';

interface OutputOptions {
  readonly node: RuntimeNode;
  readonly name: string;
  readonly lineage: Lineage;
  readonly deliveryTimeoutMs: number;
}

/** The output of a push queue: a source of its own, which isn't an entry. */
export class PushQueueOutput implements Source {
  readonly id: string;
  readonly name: string;
  readonly type = 'push-queue';
  readonly z: string;
  readonly entry = false;
  readonly #options: OutputOptions;
  #drain: Drain | undefined;
  #running = false;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.id = options.node.id;
    this.name = options.name;
    this.z = options.node.z;
  }

  /** Delivers from now on, as soon as flows run. */
  start(drain: Drain): void {
    this.#drain = drain;
    if (this.#running) drain.resume();
  }

  pause(): void {
    this.#running = false;
    this.#drain?.pause();
  }

  resume(): void {
    this.#running = true;
    this.#drain?.resume();
  }

  status(): Readonly<Record<string, unknown>> {
    return { state: this.#drain?.state ?? 'opening', in_flight: this.#drain?.inFlight ?? 0 };
  }

  /** Sends a stored record on output 1 and resolves with its verdict. */
  deliver(lease: LeasedRecord): Promise<Verdict> {
    const { node, lineage, deliveryTimeoutMs } = this.#options;
    let msg: Message;
    try {
      msg = decodeRecord(lease.record);
    } catch (cause) {
      return Promise.resolve(unreadable(cause));
    }
    return lineage.send(node, msg, {
      stamp: { ...stampOf(msg, this.name, lease), attempt: lease.attempts + 1 },
      origin: `${node.id}:${lease.seq}`,
      timeoutMs: deliveryTimeoutMs,
      lease: { queueId: node.id, seq: lease.seq },
    });
  }

  /** Tells output 2 of a record that went to the dead letters. */
  emitDead(lease: LeasedRecord, dead: { readonly reason: string; readonly code: string }): void {
    let msg: Message = {};
    try {
      msg = decodeRecord(lease.record);
    } catch {
      // It is dead because it can't be read; what is known of it still goes out.
    }
    const stamp = { ...stampOf(msg, this.name, lease), attempt: lease.attempts + 1 };
    this.#options.node.send([null, { ...msg, sluice: { ...stamp, dead } }]);
  }
}

/** The stamp to store: the source's own, or a new one for a message that no source of ours admitted. */
export function stampToStore(traced: Stamp | undefined, queue: string, now: number): Stamp {
  // The attempt is left out of what is stored: it would give the same data another delivery id on each retry.
  if (traced) return { ...traced, attempt: 1 };
  return { id: ulid(now), source: queue, receivedAt: now, attempt: 1 };
}

/** The lane of a record with `ordering: key`; one without the property is a lane of its own. */
export function laneOf(lease: LeasedRecord, keyProperty: string): string {
  const own = `seq ${lease.seq}`;
  try {
    const value = keyProperty
      .split('.')
      .reduce<unknown>(
        (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
        decodeRecord(lease.record),
      );
    return value === undefined || value === null || value === '' ? own : `key ${JSON.stringify(value)}`;
  } catch {
    // It can't be delivered either, and its delivery says why.
    return own;
  }
}

function stampOf(msg: Message, queue: string, { seq, storedAt }: LeasedRecord): Stamp {
  const stored = msg['sluice'];
  if (typeof stored === 'object' && stored !== null && 'id' in stored) return stored as Stamp;
  return { id: `${queue}:${seq}`, source: queue, receivedAt: storedAt, attempt: 1 };
}

/** A record of a newer version is good: it waits for that version. A damaged one can never be delivered. */
function unreadable(cause: unknown): Verdict {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const newer = cause instanceof SluiceError && cause.code === 'ERR_SLUICE_RECORD_VERSION';
  return { kind: 'failed', failure: newer ? 'config' : 'permanent', error };
}
