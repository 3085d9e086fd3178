/** What governs each rule (a tab), and what it has seen since the start. Reading any of it takes no lock and no disk. */
import { ConfigError } from '../errors/errors';
import { STAGES, type Stage } from '../errors/stages';
import type { Envelope, PlaceQuota } from './contract';
import { Ring } from './ring';

export type OnError = 'drop' | 'dlq' | 'halt';

export interface RulePolicy {
  readonly onError: OnError;
  /** Entries of the ring. */
  readonly bufferCapacity: number;
  readonly includeRawPayload: boolean;
}

/** A live dlq node. */
export interface Governor {
  readonly id: string;
  readonly policy: RulePolicy;
  readonly quota: PlaceQuota;
  /** Sends an envelope to the node's output. Never throws. */
  emit(entry: RecentError): void;
}

/** An entry of the ring. */
export type RecentError = Envelope & { readonly id: string };

export type StageCounts = Record<Stage, number>;

/** A tab without a dlq node only counts. */
const UNGOVERNED: RulePolicy = { onError: 'drop', bufferCapacity: 100, includeRawPayload: true };

const noErrors = (): StageCounts =>
  Object.fromEntries(Object.keys(STAGES).map((stage) => [stage, 0])) as StageCounts;

export class Rule {
  policy = UNGOVERNED;
  governor: Governor | undefined;
  total = 0;
  sinkFailures = 0;
  readonly byStage = noErrors();
  readonly recent = new Ring<RecentError>(UNGOVERNED.bufferCapacity);

  constructor(
    readonly id: string,
    public label: string,
  ) {}

  count(stage: Stage): void {
    this.total += 1;
    this.byStage[stage] += 1;
  }

  apply(policy: RulePolicy): void {
    this.policy = policy;
    this.recent.resize(policy.bufferCapacity);
  }
}

export class Rules {
  readonly #rules = new Map<string, Rule>();

  /** The rule of a tab; made when it is first asked for. */
  of(id: string): Rule {
    let rule = this.#rules.get(id);
    if (!rule) this.#rules.set(id, (rule = new Rule(id, id)));
    return rule;
  }

  /** The rule of the tab with this id, else those of all tabs with this label. */
  matching(idOrLabel: string): readonly Rule[] {
    const byId = this.#rules.get(idOrLabel);
    return byId ? [byId] : this.all().filter(({ label }) => label === idOrLabel);
  }

  all(): readonly Rule[] {
    return [...this.#rules.values()];
  }

  /** Throws ConfigError when another live node governs the tab. Returns the removal. */
  govern(id: string, governor: Governor): () => void {
    const rule = this.of(id);
    if (rule.governor && rule.governor.id !== governor.id) {
      throw new ConfigError(
        'ERR_SLUICE_DLQ_TAB_TAKEN',
        `another dlq node (${rule.governor.id}) governs this tab: remove one of them`,
      );
    }
    rule.governor = governor;
    rule.apply(governor.policy);
    // The policy stays until flows run again: a failure during the deploy belongs to it.
    return () => {
      if (rule.governor === governor) rule.governor = undefined;
    };
  }

  /** The deployed tabs, when flows run again: the others are forgotten. */
  deployed(tabs: ReadonlyMap<string, string>): void {
    for (const [id, label] of tabs) this.of(id).label = label;
    for (const [id, rule] of this.#rules) {
      if (!tabs.has(id)) this.#rules.delete(id);
      else if (!rule.governor) rule.apply(UNGOVERNED);
    }
  }

  /** The largest that a dlq node asks for; undefined where none does. */
  quota(): PlaceQuota | undefined {
    const quotas = this.all().flatMap(({ governor }) => (governor ? [governor.quota] : []));
    if (quotas.length === 0) return undefined;
    return {
      maxRows: Math.max(...quotas.map(({ maxRows }) => maxRows)),
      maxBytes: Math.max(...quotas.map(({ maxBytes }) => maxBytes)),
    };
  }
}
