/**
 * What `signed-webhook` and `ingest-api` share: a path on the HTTP door, the entry behind it, the inbox, membership in
 * the registry, status and close. Each node adds how its requests are verified.
 */
import { makeEndpoint, type Door, type DoorCounters } from '../api/receive';
import type { HttpSourceConfig } from '../config/http-source';
import { MAX_BYTES_IN_FLIGHT, type Hold, type Source } from '../delivery/contract';
import { FLOW_RETRY_SECS, refuse } from '../delivery/admission';
import { Entry, NO_RECORDS, type IncomingRecord, type Outcome, type TrackedRecord } from '../delivery/entry';
import { repeatOf } from '../delivery/repeat';
import { EMPTY_ACCOUNT, sumOf, type Account } from '../delivery/ledger';
import { codeOf, ConfigError, ownCodeOf, SluiceError } from '../errors/errors';
import type { Inbox, KnownVerdict } from '../inbox/contract';
import { InboxRunner, type InboxRunnerDeps } from '../inbox/inbox-runner';
import { moveParked } from '../inbox/parked-rows';
import { inboxPlace } from '../dead-letter/contract';
import { tallyOf } from '../inbox/tally';
import { Quota } from '../quota/quota';
import { decodeBody } from '../webhook/body-codec';
import { calmLog } from './calm-log';
import { faultText } from './fault-text';
import type { Endpoint, NamedPath } from './http-front';
import { httpSourceLook } from './http-source-look';
import { runtimeOf, type SluiceRuntime } from './runtime';
import { SourceInbox } from './source-inbox';
import { statusLine, type StatusLine } from './status';
import type { NodeRED, RuntimeNode } from './types';
import { UntrackedNotice } from './untracked-notice';

const HOUR_MS = 3_600_000;
const BODY_TIMEOUT_MS = 30_000;
const STATUS_INTERVAL_MS = 2000;
/** A record may take this many times as long as its sender waits; a repeat within that time joins it. */
const LATE_VERDICT_FACTOR = 4;

export interface HttpSourceParts extends NamedPath {
  /** Name in counters, refusals and `msg.topic`. */
  readonly name: string;
  readonly config: HttpSourceConfig;
  readonly door: Omit<Door, 'decode'>;
  /** Further fields of its entry in the status document. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Puts the HTTP door up when the node file loads: Node-RED listens before its flows run, and a sender that comes in
 * between has to be asked to come back, not told that there is nothing.
 */
export function openDoor(RED: NodeRED): void {
  try {
    runtimeOf(RED).front.refresh();
  } catch {
    // Settings that can't work: each node shows them when it starts.
  }
}

/**
 * Starts an HTTP source. With a configuration that can't work, or a path that another node serves, it shows why in red
 * and asks the senders to its path, `named`, to come back: they keep their records until it is put right.
 */
export function startHttpSource(
  RED: NodeRED,
  node: RuntimeNode,
  named: NamedPath,
  describe: () => HttpSourceParts,
): void {
  const line = statusLine(node);
  const translate = (key: string, values?: Readonly<Record<string, unknown>>) => RED._(key, values);
  try {
    const source = new HttpSource(runtimeOf(RED), node, describe(), line, translate);
    node.on('close', (_removed, done) => void source.close().finally(done));
  } catch (error) {
    line.show('down', faultText(translate, error));
    node.error(error);
    // A secret in the wrong form fits no signature: senders are told as they are of any wrong signature, by a 4xx.
    if (ownCodeOf(error) !== 'ERR_SLUICE_WEBHOOK_SECRET_MALFORMED') holdOff(RED, node, named);
  }
}

function holdOff(RED: NodeRED, node: RuntimeNode, named: NamedPath): void {
  try {
    node.on('close', runtimeOf(RED).front.holdOff(named));
  } catch {
    // Settings that can't work: there is no door, and the node shows why.
  }
}

class HttpSource implements Source {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly z: string;
  readonly entry = true;

  readonly #counters: DoorCounters = { unauthorized: 0, malformed: 0, tooLarge: 0, interrupted: 0 };
  readonly #removals: (() => void)[] = [];
  readonly #checking: NodeJS.Timeout;
  readonly #untracked: UntrackedNotice;
  #flow: Entry | undefined;
  #runner: InboxRunner | undefined;
  #inbox: Inbox | undefined;
  readonly #access: SourceInbox | undefined;
  #isOpen = false;
  #closed = false;
  readonly #warn: ReturnType<typeof calmLog>;
  readonly #room = new Quota(MAX_BYTES_IN_FLIGHT);
  /** Records that came before the inbox was open. */
  #early = 0;
  /** Refused because the inbox wasn't open. */
  #refusedEarly = 0;

  constructor(
    private readonly runtime: SluiceRuntime,
    private readonly node: RuntimeNode,
    private readonly parts: HttpSourceParts,
    private readonly line: StatusLine,
    private readonly text: (key: string, values?: Readonly<Record<string, unknown>>) => string,
  ) {
    if (parts.config.listener !== '') {
      throw new ConfigError(
        'ERR_SLUICE_CONFIG_INVALID',
        'listener must be empty: this version serves on Node-RED only',
      );
    }
    ({ id: this.id, type: this.type, z: this.z } = node);
    this.name = parts.name;
    this.#untracked = new UntrackedNotice(node, runtime.registry, parts.config.treatLegacyAsDone);
    this.#warn = calmLog((text) => node.warn(text));
    // First: it throws where another node has the path, and nothing may be claimed then.
    this.#removals.push(runtime.front.mount(parts.path, this.#endpoint(), parts.takesId));
    if (this.#usesInbox) {
      runtime.leftBehind.takeOver(parts.path);
      this.#access = new SourceInbox(runtime.inbox, () => this.#show());
      this.#access.opened.then(
        (inbox) => {
          if (!this.#closed) this.#start(inbox);
        },
        () => undefined,
      );
    } else {
      this.#start(undefined);
    }
    this.#removals.push(runtime.registry.addSource(this));
    const alerts = runtime.alerts.place(this);
    alerts.expectRecords(() => this.#flow?.counters()['accepted'] ?? 0);
    this.#removals.push(() => alerts.close());
    runtime.metrics.declareSource(this.name);
    this.#checking = setInterval(() => this.#show(), STATUS_INTERVAL_MS);
    this.#checking.unref();
    this.#show();
  }

  status(): Readonly<Record<string, unknown>> {
    const { unauthorized, malformed, tooLarge, interrupted } = this.#counters;
    const inbox = this.#inbox?.countsOf(this.#sourceKey);
    const counters = this.#flow?.counters() ?? NO_RECORDS;
    return {
      ...this.parts.fields,
      path: this.runtime.front.urlOf(this.parts.path),
      respond: this.parts.config.respond,
      ...counters,
      backpressured: (counters['backpressured'] ?? 0) + this.#refusedEarly,
      unauthorized,
      malformed,
      too_large: tooLarge,
      interrupted,
      fault: this.#access?.fault ? codeOf(this.#access.fault) : null,
      ...(inbox && {
        inbox_pending: inbox.pending,
        inbox_not_handled: inbox.parked + this.#deadLetters,
        inbox_bytes: inbox.bytes,
      }),
    };
  }

  account(): Account {
    const waiting = this.#flow?.account() ?? EMPTY_ACCOUNT;
    if (!this.#inbox || !this.#runner) return waiting;
    const { pending } = this.#inbox.countsOf(this.#sourceKey);
    const running = Math.min(pending, this.#runner.running);
    const tally = tallyOf(this.#inbox, this.#sourceKey);
    return sumOf([waiting, { ...EMPTY_ACCOUNT, ...tally, in_flight: running, queued: pending - running }]);
  }

  pause(): void {
    this.#isOpen = false;
    this.#runner?.pause();
  }

  resume(): void {
    this.#isOpen = true;
    this.#runner?.resume();
    this.#untracked.deployed();
    this.#show();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const remove of this.#removals.splice(0)) remove();
    clearInterval(this.#checking);
    this.line.close();
    this.pause();
    this.#leaveBehind(this.#inbox?.countsOf(this.#sourceKey).pending ?? 0);
    await this.#access?.release(this.#runner?.settled());
  }

  #leaveBehind(pending: number): void {
    if (pending === 0) return;
    const { path } = this.parts;
    const text = `${pending} accepted records of ${path} stay in the inbox until a node answers there on receipt again`;
    this.runtime.leftBehind.leave(path, text);
  }

  /** Rows and remembered verdicts belong to the address: it stays when a node is replaced or imported again. */
  get #sourceKey(): string {
    return this.parts.path;
  }

  get #usesInbox(): boolean {
    const { respond, dedupeHours } = this.parts.config;
    return respond === 'on_receipt' || dedupeHours > 0;
  }

  #start(inbox: Inbox | undefined): void {
    const { config, name } = this.parts;
    this.#inbox = inbox;
    const admit = (bytes: number) => this.runtime.registry.admit(this.id, bytes, 1);
    const dedupeMs = config.dedupeHours * HOUR_MS;
    // Records from when it still answered on receipt run as well.
    const hasPending = () => inbox !== undefined && inbox.countsOf(this.#sourceKey).pending > 0;
    if (inbox && (config.respond === 'on_receipt' || hasPending())) {
      this.#runner = new InboxRunner(
        { source: this.#sourceKey, window: config.maxInFlight, retries: config.inboxRetries, dedupeMs },
        {
          inbox,
          admit,
          // Not the room of those at the door: while the flow hangs, the inbox still takes records.
          room: new Quota(MAX_BYTES_IN_FLIGHT),
          deliver: this.#deliver,
          random: Math.random,
          giveUp: this.#giveUp,
          tally: tallyOf(inbox, this.#sourceKey),
          report: (error) => this.#warn('inbox', error.message),
        },
      );
      if (this.#isOpen) this.#runner.resume();
      moveParked(inbox, this.#sourceKey, this.#giveUp).catch((error: unknown) =>
        this.#warn('inbox', `records that were not handled stay in the inbox: ${String(error)}`),
      );
    }
    this.#flow = new Entry(
      {
        source: name,
        respond: config.respond,
        acceptWhileFull: config.acceptWhileFull,
        doneTimeoutMs: config.doneTimeoutSecs * 1000,
        maxInFlight: config.maxInFlight,
      },
      {
        admit,
        deliver: (record, holds) => this.#deliver(record, 1, holds),
        metrics: this.runtime.metrics,
        receiver: this.#runner,
        room: this.#room,
        now: () => performance.now(),
        report: (fault) => this.node.error(fault),
        memory: inbox && dedupeMs > 0 ? this.#memory(inbox, dedupeMs) : undefined,
      },
    );
    this.#show();
  }

  #endpoint(): Endpoint {
    const { config, door, name } = this.parts;
    // Records that come while the inbox opens wait for that; a redeploy shouldn't cost their sender a retry.
    const take = (record: IncomingRecord) => this.#flow?.take(record) ?? this.#takeWhenOpen(record);
    return makeEndpoint(
      take,
      {
        ...door,
        decode: (body, headers) =>
          decodeBody(config.codec, body, headers['content-type'], headers['content-encoding']),
      },
      {
        topic: name,
        limits: {
          maxBytes: config.maxBodyKb * 1024,
          timeoutMs: BODY_TIMEOUT_MS,
          budget: this.runtime.bodyBudget,
        },
        keepRaw: config.keepRaw,
        now: Date.now,
        report: (error) => this.node.error(error),
        onRejected: (error) => this.#turnedAway(error),
      },
      this.#counters,
    );
  }

  async #takeWhenOpen(record: IncomingRecord): Promise<Outcome> {
    if (this.#early < this.parts.config.maxInFlight && this.#room.reserve(record.bytes)) {
      this.#early += 1;
      await this.#access?.tried;
      this.#early -= 1;
      this.#room.free(record.bytes);
      if (this.#flow) return this.#flow.take(record);
    }
    this.#refusedEarly += 1;
    this.runtime.metrics.recordsRefused(this.name, 'inbox');
    return { kind: 'refused', refusal: refuse('inbox', FLOW_RETRY_SECS) };
  }

  #memory(inbox: Inbox, dedupeMs: number) {
    const source = this.#sourceKey;
    return {
      recall: (key: string) => inbox.recall(source, key),
      remember: (key: string, known: KnownVerdict) =>
        inbox.remember({ source, key, ...known, expiresAt: Date.now() + dedupeMs }),
    };
  }

  readonly #deliver = (record: TrackedRecord, attempt: number, holds: ReadonlyMap<string, Hold>) => {
    const { key, receivedAt, message } = record;
    const { config } = this.parts;
    const repeat = repeatOf(record, config.dedupeHours * HOUR_MS);
    return this.runtime.lineage.send(this.node, message, {
      stamp: { id: key, source: this.name, receivedAt, attempt, key },
      origin: `${this.#sourceKey}:${key}`,
      timeoutMs: config.doneTimeoutSecs * 1000 * LATE_VERDICT_FACTOR,
      holds,
      ...(repeat && { repeat }),
      // A row: its sender was told 200.
      accepted: record.row !== undefined,
      treatLegacyAsDone: config.treatLegacyAsDone,
    });
  };

  readonly #giveUp: NonNullable<InboxRunnerDeps['giveUp']> = async (
    { key, receivedAt, message },
    failure,
    verdict,
  ) => {
    const origin = `${this.#sourceKey}:${key}`;
    await this.runtime.deadLetters.giveUp({
      node: this.node,
      msg: message,
      stamp: { id: key, source: this.name, receivedAt, attempt: 1, key },
      origin,
      place: inboxPlace(this.#sourceKey),
      key: `${key} ${receivedAt}`,
      failure,
      verdict,
    });
  };

  /** Open ones of records whose senders were told 200. */
  get #deadLetters(): number {
    return this.runtime.deadLetters.room.letters.counts(inboxPlace(this.#sourceKey))?.open ?? 0;
  }

  /** The sender isn't told why; whoever runs this must be able to find out. */
  #turnedAway(error: Error): void {
    const code = error instanceof SluiceError ? error.code : error.name;
    this.#warn(code, `turned a request away: ${error.message} (${code})`);
  }

  #show(): void {
    const inbox = this.#inbox?.countsOf(this.#sourceKey);
    const look = httpSourceLook({
      fault: this.#access?.fault,
      isOpening: this.#flow === undefined,
      isRunning: this.#isOpen,
      notHandled: this.parts.config.respond === 'on_receipt' ? (inbox?.parked ?? 0) + this.#deadLetters : 0,
      trouble: this.#flow?.trouble(),
      untrackable: this.#untracked.count,
      accepted: this.#flow?.counters()['accepted'] ?? 0,
    });
    const text =
      'fault' in look
        ? faultText(this.text, look.fault)
        : this.text(`${this.type}.status.${look.key}`, look.values);
    this.line.show(look.mood, text);
  }
}
