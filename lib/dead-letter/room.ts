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
import { PIPELINE, type Halt, type LetterState } from './contract';
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

export class DeadLetterRoom {
  readonly rules: Rules;
  readonly letters: SharedLetters;
  readonly #counted = new WeakSet<Error>();

  constructor(private readonly deps: RoomDeps) {
    this.rules = deps.rules;
    this.letters = deps.letters;
  }

  /** Rejects with a transient error when the failure can't be kept: then nobody may take it for settled. */
  async report(
    failure: Failure,
    { trace, always = false, place = PIPELINE, bySource = false }: ReportOptions = {},
  ): Promise<Disposal> {
    const rule = this.rules.of(failure.rule);
    if (trace?.deadLetter || (trace?.replayOf === undefined && isEnvelope(failure.msg.payload))) {
      // Its verdict counts for the dlq that sent it; one that came back from outside counts here.
      if (!trace?.deadLetter) this.sinkFailed(rule);
      return 'ended';
    }
    const stage = failure.stage ?? stageOf(failure.error, failure.node?.isSink ?? false);
    if (!bySource || !this.#counted.has(failure.error)) this.#count(rule, stage);
    this.#counted.add(failure.error);
    if (trace?.replayOf !== undefined) return 'ended';
    const { onError, includeRawPayload } = rule.policy;
    if (onError === 'drop' && !always) return 'dropped';
    const now = this.deps.now();
    const { envelope, record } = keepFailure(failure, now, includeRawPayload || always);
    const halt =
      onError === 'halt' && !this.haltOf(rule.id) ? { rule: rule.id, cause: causeOf(envelope) } : undefined;
    const { key, target } = failure;
    const letter = { place, envelope, target, record, ...(key === undefined ? {} : { key }) };
    let id: number;
    try {
      id = await this.letters.use((store) => store.park(letter, halt));
    } catch (cause) {
      throw unkept(failure.error, cause);
    }
    if (onError !== 'drop') {
      const entry = { ...envelope, id: String(id) };
      rule.recent.push(entry);
      rule.governor?.emit(entry);
    }
    if (halt) this.#tellHalted(rule, envelope.error);
    // A queue tells of its own.
    if (place === PIPELINE) {
      const what = envelope.error_code ?? envelope.stage;
      this.deps.placeOf(rule).happened('dead', what, `dead letter ${id}: ${envelope.error}`);
    }
    return 'kept';
  }

  /** An envelope could not be delivered by the flow behind a dlq node. */
  sinkFailed(rule: Rule): void {
    rule.sinkFailures += 1;
    this.deps.metrics.dlqSinkFailures(rule.label);
    rule.governor?.changed();
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
    rule.governor?.changed();
    return true;
  }

  /** By hand; false for a letter that is being replayed or is closed. */
  close(id: number, to: Extract<LetterState, 'resolved' | 'discarded'>): Promise<boolean> {
    return this.letters.use((store) => store.change(id, ['open'], to));
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
    rule.governor?.changed();
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
