import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Source } from '#lib/delivery/contract';
import { differenceOf, EMPTY_ACCOUNT, SteadyDifference, sumOf, type Account } from '#lib/delivery/ledger';
import { ledgerDocument } from '#lib/api/ledger-document';
import { LedgerWatch } from '#lib/node-red/ledger-watch';
import { alertsFor } from '../harness/alerts';

const NAMES = Object.keys(EMPTY_ACCOUNT) as (keyof Account)[];
const account = fc
  .tuple(...NAMES.map(() => fc.nat(1e6)))
  .map((values) => Object.fromEntries(NAMES.map((name, at) => [name, values[at]])) as unknown as Account);

describe('N15 the ledger', () => {
  it('balances exactly when each accepted record is in one place, and the total is the sum of all', () => {
    fc.assert(
      fc.property(fc.array(account, { maxLength: 5 }), (accounts) => {
        const differences = accounts.map(differenceOf);
        expect(differenceOf(sumOf(accounts))).toBe(differences.reduce((sum, each) => sum + each, 0));
        for (const each of accounts) {
          const missing = differenceOf(each);
          expect(differenceOf({ ...each, accepted: each.accepted - missing })).toBe(0);
        }
      }),
    );
  });

  it('takes no difference for one that hasn’t stayed for a minute', () => {
    const steady = new SteadyDifference();
    expect(steady.look(5, 0)).toBe(0);
    expect(steady.look(3, 59_999)).toBe(0);
    expect(steady.look(7, 60_000)).toBe(3);
    expect(steady.look(0, 61_000)).toBe(0);
    expect(steady.look(2, 62_000)).toBe(0);
    expect(steady.look(2, 121_000)).toBe(0);
    expect(steady.look(2, 122_000)).toBe(2);
  });

  it('doesn’t alert for records that are counted twice: none is missing', () => {
    const steady = new SteadyDifference();
    expect([0, 60_000, 120_000].map((at) => steady.look(-4, at))).toEqual([0, 0, 0]);
  });

  it('alerts by the source’s name when records stay unaccounted for, and recovers', () => {
    const { centre, log, at } = alertsFor();
    let accepted = 10;
    let delivered = 8;
    let nowMs = 0;
    const source = {
      id: 's',
      name: 'orders',
      type: 'signed-webhook',
      z: 'tab',
      account: () => ({ ...EMPTY_ACCOUNT, accepted, delivered }),
    } as unknown as Source;
    centre.place(source);
    const watch = new LedgerWatch({ sources: [source] }, centre, () => nowMs);
    const round = (ms: number) => {
      nowMs = ms;
      at(ms);
      watch.look();
      centre.check();
    };
    for (let ms = 0; ms <= 55_000; ms += 5000) round(ms);
    expect(log).toEqual([]);
    round(60_000);
    expect(log).toEqual([
      expect.stringMatching(
        /^critical signed-webhook "orders": the ledger doesn't balance: 2 accepted records/,
      ),
    ]);
    accepted = 12;
    delivered = 12;
    round(65_000);
    round(70_000);
    expect(log[1]).toBe('info signed-webhook "orders": the ledger balances again');
    expect(ledgerDocument([source]).total).toMatchObject({ accepted: 12, delivered: 12, difference: 0 });
  });
});
