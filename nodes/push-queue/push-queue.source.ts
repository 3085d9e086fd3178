import { pushPlace } from '#lib/dead-letter/contract';
import type { Source } from '#lib/delivery/contract';
import type { Account } from '#lib/delivery/ledger';
import type { Verdict } from '#lib/delivery/verdict';
import type { SluiceRuntime } from '#lib/node-red/runtime';
import type { Message, RuntimeNode } from '#lib/node-red/types';
import { UntrackedNotice } from '#lib/node-red/untracked-notice';
import type { LeasedRecord, QueueStore, Settlement } from '#lib/queue/contract';
import { Drain } from '#lib/queue/drain';
import type { DeadSettlement, DrainState, Readiness } from '#lib/queue/drain-options';
import type { PushQueue } from '#lib/queue/push-queue';
import { decodeRecord } from '#lib/queue/record-format';
import type { PushQueueConfig } from './push-queue.config';
import type { PushQueueLog } from './push-queue.log';
import { laneOf, originOf, stampOf, unreadable } from './push-queue.record';

const MIN_IN_FLIGHT = 256;

interface OutputOptions {
  readonly node: RuntimeNode;
  readonly config: PushQueueConfig;
  readonly queue: PushQueue;
  readonly runtime: SluiceRuntime;
  readonly log: PushQueueLog;
}

/** The output of a push queue: a source of its own, which isn't an entry. */
export class PushQueueOutput implements Source {
  readonly id: string;
  readonly name: string;
  readonly type = 'push-queue';
  readonly z: string;
  readonly entry = false;
  readonly #options: OutputOptions;
  readonly #untracked: UntrackedNotice;
  #drain: Drain | undefined;
  #running = false;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.id = options.node.id;
    this.name = options.queue.name;
    this.z = options.node.z;
    const { node, runtime, config } = options;
    this.#untracked = new UntrackedNotice(node, runtime.registry, config.treatLegacyAsDone);
  }

  get state(): DrainState | undefined {
    return this.#drain?.state;
  }

  /** Nodes behind it that make outcomes unknown. */
  get untrackable(): number {
    return this.#untracked.count;
  }

  hasMore(): boolean {
    return this.#drain?.hasMore ?? false;
  }

  get inFlight(): number {
    return this.#drain?.inFlight ?? 0;
  }

  /** Open ones of this queue. */
  get deadLetters(): number {
    return this.#options.runtime.deadLetters.room.letters.counts(this.#place)?.open ?? 0;
  }

  get #place(): string {
    return pushPlace(this.#options.config.queue);
  }

  /** Delivers what the store holds from now on, as soon as flows run. */
  start(store: QueueStore): void {
    const { config, log } = this.#options;
    this.#drain = new Drain({
      store,
      policy: { ...config, maxInFlight: this.#maxInFlight() },
      keyName: config.keyProperty,
      keyOf: (lease) => laneOf(lease, config.keyProperty),
      deliver: (lease) => this.#deliver(lease),
      readiness: (bytes) => this.#readiness(bytes),
      bury: (lease, dead, verdict) => this.#bury(lease, dead, verdict),
      onSettled: (lease, settlement, verdict) => this.#settled(lease, settlement, verdict),
      onError: (error) => log.storeError(error),
    });
    if (this.#running) this.#drain.resume();
  }

  pause(): void {
    this.#running = false;
    this.#drain?.pause();
  }

  resume(): void {
    this.#running = true;
    this.#untracked.deployed();
    // The deploy may have put another sink behind it.
    this.#drain?.resume(this.#maxInFlight());
  }

  /** Resolves when the settlements under way are committed; deliveries that are out end with `settled`. */
  async close(timeoutMs: number): Promise<void> {
    this.pause();
    await this.#drain?.close(timeoutMs);
  }

  async settled(): Promise<void> {
    await this.#drain?.settled();
  }

  status(): Readonly<Record<string, unknown>> {
    const { state: file } = this.#options.queue;
    return { state: this.state ?? (file === 'failed' ? file : 'opening'), in_flight: this.inFlight };
  }

  account(): Account {
    return this.#options.queue.account(this.inFlight);
  }

  /** As configured, else enough for the largest batch behind it: one under way while the next one is gathered. */
  #maxInFlight(): number {
    const { config, runtime } = this.#options;
    return config.maxInFlight || Math.max(MIN_IN_FLIGHT, 2 * runtime.registry.largestBatch(this.id));
  }

  #readiness(bytes: number): Readiness {
    const { registry } = this.#options.runtime;
    if (!registry.hasLiveOutput(this.id)) return 'no_destination';
    if (registry.isStopped(this.id)) return 'stopped';
    return registry.canDeliver(this.id, bytes, 1) ? 'ready' : 'sink_full';
  }

  /** Sends a stored record on output 1 and resolves with its verdict. */
  #deliver(lease: LeasedRecord): Promise<Verdict> {
    const { node, config, runtime } = this.#options;
    let msg: Message;
    try {
      msg = decodeRecord(lease.record);
    } catch (cause) {
      return Promise.resolve(unreadable(cause));
    }
    const stamp = stampOf(msg, this.name, lease);
    return runtime.lineage.send(node, msg, {
      stamp,
      origin: originOf(msg, stamp),
      timeoutMs: config.deliveryTimeoutMs,
      lease: { queueId: node.id, seq: lease.seq },
      accepted: true,
      // The time, too: a queue in memory counts from 1 again after a restart.
      repeat: { scope: `${node.id} ${lease.seq} ${lease.storedAt}`, since: 0 },
      treatLegacyAsDone: config.treatLegacyAsDone,
    });
  }

  /** A record that can't even be read stays in the queue's own file. */
  async #bury(lease: LeasedRecord, { reason, code }: DeadSettlement, verdict: Verdict): Promise<boolean> {
    const { node, runtime } = this.#options;
    let msg: Message;
    try {
      msg = decodeRecord(lease.record);
    } catch {
      return false;
    }
    const stamp = stampOf(msg, this.name, lease);
    const disposal = await runtime.deadLetters.giveUp({
      node,
      msg,
      stamp,
      origin: originOf(msg, stamp),
      place: this.#place,
      key: `${node.id} ${lease.seq} ${lease.storedAt}`,
      failure: { code, reason },
      verdict,
    });
    return disposal === 'kept';
  }

  #settled(lease: LeasedRecord, settlement: Settlement, verdict: Verdict): void {
    const { queue, log } = this.#options;
    log.attempt(verdict);
    if (settlement.outcome === 'done') queue.countDelivered(lease.record.byteLength);
    if (settlement.outcome !== 'dead') return;
    queue.countDead();
    log.dead(lease.seq, settlement.reason, settlement.code);
    this.#emitDead(lease, { reason: settlement.reason, code: settlement.code });
  }

  /** Tells output 2 of a record that went to the dead letters. */
  #emitDead(lease: LeasedRecord, dead: { readonly reason: string; readonly code: string }): void {
    let msg: Message = {};
    try {
      msg = decodeRecord(lease.record);
    } catch {
      // It is dead because it can't be read; what is known of it still goes out.
    }
    this.#options.node.send([null, { ...msg, sluice: { ...stampOf(msg, this.name, lease), dead } }]);
  }
}
