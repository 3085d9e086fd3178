import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DONE, type Verdict } from '#lib/delivery/verdict';
import { aborted, DrainFixture, failed, flush, transient, unknown } from '../unit/drain-fixture';

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
type Step = { readonly kind: 'advance'; readonly ms: number } | { readonly kind: 'pause' | 'resume' };
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 5000 }) }),
    fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const) }),
  ),
  { maxLength: 10 },
);

describe('the delivery loop, whatever deliveries end in and whenever flows stop', () => {
  it('O1 N13 ends with every record done or dead, each exactly once, and nothing left over', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, steps, fc.constantFrom('none', 'fifo'), async (script, way, ordering) => {
        const queue = new DrainFixture({ ordering: ordering as 'none' | 'fifo', maxInFlight: 3 });
        const left = script.map((outcome) => [...outcome]);
        queue.answer = (_, text) => outcomes[left[Number(text)]?.shift() ?? 'done'] ?? DONE;
        await queue.append(...script.map((_, index) => String(index)));
        queue.drain.resume();
        for (const step of way) {
          if (step.kind === 'advance') await queue.clock.advance(step.ms);
          else queue.drain[step.kind]();
        }
        queue.drain.resume();
        await queue.clock.advance(3_600_000);
        await flush();
        const ended = queue.settled.filter(({ settlement }) => settlement.outcome !== 'retry');
        expect(ended.map(({ text }) => Number(text)).sort((a, b) => a - b)).toEqual(
          script.map((_, index) => index),
        );
        expect(queue.store.counts()).toMatchObject({ records: 0, bytes: 0, parked: 0 });
        if (ordering === 'fifo') {
          const firsts = [...new Set(queue.texts())];
          expect(firsts).toEqual(script.map((_, index) => String(index)));
          expect(ended.map(({ text }) => text)).toEqual(firsts);
        }
      }),
      { numRuns: 40 },
    );
  });
});
