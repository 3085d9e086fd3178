import type { AlertCentre } from '../alert/alert-centre';
import { differenceOf, SteadyDifference } from '../delivery/ledger';
import type { Registry } from '../delivery/registry';
import { SluiceError } from '../errors/errors';

/** Looks at each source's ledger with every round of the alert centre, and alerts where records stay unaccounted for. */
export class LedgerWatch {
  readonly #steady = new Map<string, SteadyDifference>();

  constructor(
    private readonly registry: Pick<Registry, 'sources'>,
    private readonly alerts: Pick<AlertCentre, 'about'>,
    private readonly now: () => number,
  ) {}

  look(): void {
    const { sources } = this.registry;
    for (const id of this.#steady.keys()) {
      if (!sources.some((source) => source.id === id)) this.#steady.delete(id);
    }
    for (const { id, account } of sources.map((source) => ({ id: source.id, account: source.account?.() }))) {
      if (!account) continue;
      const steady = this.#steady.get(id) ?? new SteadyDifference();
      this.#steady.set(id, steady);
      const missing = steady.look(differenceOf(account), this.now());
      const place = this.alerts.about(id);
      if (missing > 0) place?.raise('ledger', unbalanced(missing));
      else place?.clear('ledger');
    }
  }
}

function unbalanced(missing: number): SluiceError {
  return new SluiceError(
    'ERR_SLUICE_LEDGER_UNBALANCED',
    `${missing} accepted records are neither delivered nor held nor counted as lost`,
  );
}
