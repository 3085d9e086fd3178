import { differenceOf, sumOf, type Account } from '../delivery/ledger';
import type { Source } from '../delivery/contract';

interface Balanced extends Account {
  readonly difference: number;
}

export interface LedgerDocument {
  readonly total: Balanced;
  readonly sources: readonly (Balanced & Pick<Source, 'id' | 'name' | 'type'>)[];
}

const balanced = (account: Account): Balanced => ({ ...account, difference: differenceOf(account) });

/** The ledger of every source that keeps one, and of all together. */
export function ledgerDocument(sources: readonly Source[]): LedgerDocument {
  const kept = sources.flatMap((source) => {
    const account = source.account?.();
    return account ? [{ id: source.id, name: source.name, type: source.type, account }] : [];
  });
  return {
    total: balanced(sumOf(kept.map(({ account }) => account))),
    sources: kept.map(({ account, ...who }) => ({ ...who, ...balanced(account) })),
  };
}
