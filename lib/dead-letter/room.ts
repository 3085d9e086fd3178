/**
 * The runtime's dead letters: what becomes of a record that failed for good.
 *
 * A failure is committed before its node completes the message with the error, so whoever hears of a permanent failure
 * can rely on the record being kept; what can't be committed is a transient failure instead. One record has one letter:
 * the one of the node that failed. Only what no node kept is kept by its source.
 */
import type { AlertPlace } from '../alert/alert-place';
import type { Trace } from '../delivery/lineage/contract';
import { DeliveryError, SluiceError } from '../errors/errors';
import type { Stage } from '../errors/stages';
import type { Metrics } from '../metrics/metrics';
import { PIPELINE, type Envelope, type Halt, type LetterState, type Parked } from './contract';
import { keepFailure } from './envelope';
import { isEnvelope, stageOf, type Failure } from './failure';
import type { Rule, Rules } from './rules';
import type { SharedLetters } from './shared-letters';

export interface RoomDeps {
  readonly letters: SharedLetters;
  readonly rules: Rules;
  readonly metrics: Pick<Metrics, 'dlqRecords' | 'dlqSinkFailures'>;
  /** Where a rule tells of itself. */
  readonly placeOf: (rule: Rule) => AlertPlace;
  /** Unix ms. */
  readonly now: () => number;
}

/** `kept`: it is durable. `dropped`: its rule only counts. `ended`: it was a dead letter, or a replay of one. */
export type Disposal = 'kept' | 'dropped' | 'ended';

export interface ReportOptions {
  readonly trace?: Trace | undefined;
  /** Keep it although its rule only counts: its origin was told that it is safe, and nobody else will. */
  readonly always?: boolean;
  readonly place?: string;
  /** By its source, for what no node kept: the node that failed may have counted it. */
  readonly bySource?: boolean;
}

interface ParkedLetter extends Parked {
  readonly envelope: Envelope;
  /** It stopped its rule. */
  readonly halts: boolean;
}

export class DeadLetterRoom {
  readonly rules: Rules;
  readonly letters: SharedLetters;
  readonly #counted = new WeakSet<Error>();

  constructor(private readonly deps: RoomDeps) {
    this.rules = deps.rules;
    this.letters = deps.letters;
  }

  /** Rejects with a transient error when the failure can't be kept: then nobody may take it for settled. */
  async report(failure: Failure, options: ReportOptions = {}): Promise<Disposal> {
    const { trace, bySource = false } = options;
    const rule = this.rules.of(failure.rule);
    // The verdict tells the dlq that sent it, or who replays it.
    if (trace?.deadLetter || trace?.replayOf !== undefined) return 'ended';
    if (isEnvelope(failure.msg.payload)) return this.#cameBack(rule, failure, options);
    const stage = failure.stage ?? stageOf(failure.error, failure.node?.isSink ?? false);
    const isCounted = bySource && this.#counted.has(failure.error);
    this.#counted.add(failure.error);
    const count = () => {
      if (!isCounted) this.#count(rule, stage);
    };
    if (rule.policy.onError === 'drop' && !options.always) {
      count();
      return 'dropped';
    }
    let parked: ParkedLetter;
    try {
      parked = await this.#park(rule, failure, options);
    } catch (error) {
      count();
      throw error;
    }
    // A record that is tried again fails at the same place again: that is one failure.
    if (!parked.isNew) {
      if (parked.halts) this.#tellHalted(rule, parked.envelope.error);
      return 'kept';
    }
    count();
    this.#tell(rule, parked, options.place);
    return 'kept';
  }

  /**
   * A dead letter that the flow behind a dlq node sent out of sight, and that failed once more on its way. It isn't sent
   * on again, or it would go round for ever; where its origin was told that it is safe, it is kept.
   */
  async #cameBack(rule: Rule, failure: Failure, options: ReportOptions): Promise<Disposal> {
    this.sinkFailed(rule);
    if (!options.trace?.accepted && !options.always) return 'ended';
    await this.#park(rule, failure, { ...options, always: true }, false);
    return 'kept';
  }

  async #park(
    rule: Rule,
    failure: Failure,
    { always = false, place = PIPELINE }: ReportOptions,
    mayHalt = true,
  ): Promise<ParkedLetter> {
    const { onError, includeRawPayload } = rule.policy;
    const { envelope, derived, record } = keepFailure(failure, this.deps.now(), includeRawPayload || always);
    const halts = mayHalt && onError === 'halt' && !this.haltOf(rule.id);
    const { key, target } = failure;
    const letter = { place, envelope, derived, target, record, ...(key === undefined ? {} : { key }) };
    try {
      const parked = await this.letters.use((store) =>
        store.park(letter, halts ? { rule: rule.id, cause: causeOf(envelope) } : undefined),
      );
      return { ...parked, envelope, halts };
    } catch (cause) {
      throw unkept(failure.error, cause);
    }
  }

  #tell(rule: Rule, { id, envelope, halts }: ParkedLetter, place = PIPELINE): void {
    if (rule.policy.onError !== 'drop') {
      const entry = { ...envelope, id: String(id) };
      rule.recent.push(entry);
      rule.governor?.emit(entry);
    }
    if (halts) this.#tellHalted(rule, envelope.error);
    // A queue tells of its own.
    if (place !== PIPELINE) return;
    const what = envelope.error_code ?? envelope.stage;
    this.deps.placeOf(rule).happened('dead', what, `dead letter ${id}: ${envelope.error}`);
  }

  /** An envelope could not be delivered by the flow behind a dlq node. */
  sinkFailed(rule: Rule): void {
    rule.sinkFailures += 1;
    this.deps.metrics.dlqSinkFailures(rule.label);
  }

  haltOf(rule: string): Halt | undefined {
    return this.letters.halts.get(rule);
  }

  /** Whether a source that reaches these tabs must refuse: a rule is stopped, or it isn't known yet which are. */
  barrier(tabs: readonly string[]): 'stopped' | 'unknown' | undefined {
    const { halts, ready } = this.letters;
    if (!ready) return 'unknown';
    return halts.size > 0 && tabs.some((tab) => halts.has(tab)) ? 'stopped' : undefined;
  }

  /** Lets the sources of a stopped rule go on. False if it isn't stopped. */
  async start(rule: Rule): Promise<boolean> {
    if (!this.haltOf(rule.id)) return false;
    await this.letters.use((store) => store.unhalt(rule.id));
    this.deps.placeOf(rule).clear('halted');
    return true;
  }

  /** By hand; false for a letter that is being replayed or is closed. */
  close(id: number, to: Extract<LetterState, 'resolved' | 'discarded'>): Promise<boolean> {
    return this.letters.use((store) => store.change(id, 'open', to));
  }

  /** Rules that are stopped since before this start are said again. */
  announceHalts(): void {
    for (const { rule, cause } of this.letters.halts.values()) {
      this.#tellHalted(this.rules.of(rule), cause.error);
    }
  }

  #count(rule: Rule, stage: Stage): void {
    rule.count(stage);
    this.deps.metrics.dlqRecords(rule.label, stage);
  }

  #tellHalted(rule: Rule, error: string): void {
    const text = `rule "${rule.label}" is stopped: ${error}`;
    this.deps.placeOf(rule).raise('halted', new SluiceError('ERR_SLUICE_RULE_STOPPED', text));
  }
}

const causeOf = ({ stage, error, error_code, node }: Halt['cause']): Halt['cause'] => ({
  stage,
  error,
  ...(error_code !== undefined && { error_code }),
  ...(node && { node }),
});

/** The record is good as long as nobody has lost it: its origin keeps it and comes again. */
function unkept(failure: Error, cause: unknown): DeliveryError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new DeliveryError(
    'ERR_SLUICE_DLQ_UNKEPT',
    `the record failed for good (${failure.message}) and can't be kept as a dead letter: ${why}`,
    { failure: 'transient', cause: failure },
  );
}
