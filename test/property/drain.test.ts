import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DONE, type Verdict } from '#lib/delivery/verdict';
import { aborted, DrainFixture, failed, textOf, transient, unknown } from '../unit/drain-fixture';

const outcomes: Record<string, Verdict> = {
  done: DONE,
  transient: transient(),
  refused: transient('ERR_SLUICE_QUEUE_FULL'),
  config: failed('config', 'ERR_SLUICE_REST_UNAUTHORIZED'),
  permanent: failed('permanent', 'ERR_SLUICE_REST_REJECTED'),
  unknown,
  aborted,
};
const scripts = fc.array(fc.array(fc.constantFrom(...Object.keys(outcomes)), { maxLength: 6 }), {
  minLength: 1,
  maxLength: 12,
});
type Step =
  { readonly kind: 'advance'; readonly ms: number } | { readonly kind: 'pause' | 'resume' | 'redeploy' };
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 5000 }) }),
    fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'redeploy' as const) }),
  ),
  { maxLength: 10 },
);

describe('the delivery loop, whatever deliveries end in and whenever flows stop', () => {
  it('O1 N13 ends with every record done or dead, each exactly once, in the order asked for', async () => {
    await fc.assert(
      fc.asyncProperty(
        scripts,
        steps,
        fc.constantFrom('none' as const, 'key' as const, 'fifo' as const),
        async (script, way, ordering) => {
          const queue = new DrainFixture(
            { ordering, maxInFlight: 3 },
            { keyOf: (lease) => String(Number(textOf(lease)) % 3) },
          );
          const left = script.map((outcome) => [...outcome]);
          let sent = 0;
          queue.answer = (_, text) => {
            const outcome = left[Number(text)]?.shift() ?? 'done';
            // Some deliveries are still out when a deploy comes.
            return ++sent % 4 === 0 ? undefined : outcomes[outcome];
          };
          await queue.append(...script.map((_, index) => String(index)));
          queue.drain.resume();
          for (const step of way) {
            if (step.kind === 'advance') await queue.clock.advance(step.ms);
            else await queue[step.kind]();
          }
          queue.answer = (_, text) => outcomes[left[Number(text)]?.shift() ?? 'done'];
          await queue.redeploy();
          await queue.clock.advance(3_600_000);
          const ended = queue.settled
            .filter(({ settlement }) => settlement.outcome !== 'retry')
            .map(({ text }) => Number(text));
          const all = script.map((_, index) => index);
          expect(ended.toSorted((a, b) => a - b)).toEqual(all);
          expect(queue.store.counts()).toMatchObject({ records: 0, bytes: 0, parked: 0 });
          if (ordering === 'fifo') expect(ended).toEqual(all);
          if (ordering === 'key') {
            for (const key of [0, 1, 2]) {
              const lane = all.filter((index) => index % 3 === key);
              expect(ended.filter((index) => index % 3 === key)).toEqual(lane);
            }
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
