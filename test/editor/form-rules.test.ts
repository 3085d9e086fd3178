import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readConfig } from '#lib/config/read-config';
import * as queue from '#nodes/push-queue/push-queue.config';
import * as webhook from '#nodes/signed-webhook/signed-webhook.config';
import { adviceFor } from '#nodes/signed-webhook/signed-webhook.senders';
import { isShown } from '../../lib/editor/conditions';
import { isEnvReference, lenientConfig, problemWith } from '../../lib/editor/problems';

const queueProblem = (name: keyof queue.PushQueueConfig, saved: object) =>
  problemWith(name, { ...saved }, queue.fields, queue.problemsOf)?.key;

describe('what the form says about a value', () => {
  it('O12 marks the quota or the policy, whichever stands in the way of block', () => {
    expect(queueProblem('onFull', { onFull: 'block', enabled: false })).toBe('blockNeedsEnabled');
    expect(queueProblem('maxQuotaMb', { onFull: 'block', maxQuotaMb: '0' })).toBe('blockNeedsQuota');
    expect(queueProblem('maxQuotaMb', { onFull: 'evict_oldest', maxQuotaMb: '0' })).toBeUndefined();
  });

  it('names the bound that a number breaks', () => {
    expect(problemWith('maxUnknown', { maxUnknown: 0 }, queue.fields, queue.problemsOf)).toEqual({
      key: 'min',
      values: { min: 1 },
    });
  });

  it.each(['${HOOK}', 'a-${HOOK}', '${HOOK}/x'])('does not judge the environment reference %j', (hook) => {
    expect(isEnvReference(hook)).toBe(true);
    expect(problemWith('hook', { hook }, webhook.fields, webhook.problemsOf)).toBeUndefined();
  });

  it('lets an environment reference stand for any value in the rules over several properties', () => {
    expect(queueProblem('onFull', { onFull: 'block', enabled: '${DURABLE}' })).toBeUndefined();
    expect(queueProblem('maxQuotaMb', { onFull: 'block', maxQuotaMb: '${QUOTA}' })).toBeUndefined();
  });

  it('finds a problem exactly when the runtime would refuse to start', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom('block', 'fifo', '', '0'),
    );
    const names = Object.keys(queue.fields) as (keyof queue.PushQueueConfig)[];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 5 }), (saved) => {
        fc.pre(!Object.values(saved).some(isEnvReference));
        const formMinds = names.some((name) => queueProblem(name, saved) !== undefined);
        let runtimeMinds = false;
        try {
          readConfig(queue.fields, saved, queue.problemsOf);
        } catch {
          runtimeMinds = true;
        }
        return formMinds === runtimeMinds;
      }),
    );
  });

  it('reads a config with defaults in place of what does not parse', () => {
    expect(lenientConfig(queue.fields, { maxQuotaMb: 'x', queue: 'a' })).toMatchObject({
      maxQuotaMb: 2000,
      queue: 'a',
    });
  });
});

describe('when a part is shown', () => {
  it.each([
    ['scheme=generic', { scheme: 'generic' }, true],
    ['scheme=generic', { scheme: 'github' }, false],
    ['scheme=github,slack', { scheme: 'slack' }, true],
    ['enabled=false', { enabled: false }, true],
    ['respond=on_done scheme=github', { respond: 'on_done', scheme: 'slack' }, false],
    ['respond=on_done scheme=github', { respond: 'on_done', scheme: 'github' }, true],
    ['scheme!=github', { scheme: 'github' }, false],
    ['header!=', { header: 'X' }, true],
    ['header!=', { header: '' }, false],
    ['scheme=slack | scheme=generic header!=', { scheme: 'generic', header: 'X' }, true],
    ['scheme=slack | scheme=generic header!=', { scheme: 'generic', header: '' }, false],
    ['', {}, true],
  ])('%j with %j: %j', (condition, values, shown) => {
    expect(isShown(condition, values)).toBe(shown);
  });
});

describe('advice about senders', () => {
  const base = { scheme: 'github', respond: 'on_done', acceptWhileFull: false, doneTimeoutSecs: 3 } as const;

  it('N9 warns that a 503 loses what GitHub sends, and is content with an inbox that is always open', () => {
    expect(adviceFor(base)).toEqual(['refusalLoses']);
    expect(adviceFor({ ...base, respond: 'on_receipt' })).toEqual(['fullLoses']);
    expect(adviceFor({ ...base, respond: 'on_receipt', acceptWhileFull: true })).toEqual([]);
  });

  it('N9 warns when the sender hangs up before the verdict', () => {
    expect(adviceFor({ ...base, scheme: 'slack' })).toEqual(['refusalLosesLater']);
    expect(adviceFor({ ...base, scheme: 'slack', doneTimeoutSecs: 25 })).toContain('answerTooLate');
  });

  it('N9 has nothing to say about senders that try again for days', () => {
    expect(adviceFor({ ...base, scheme: 'stripe', doneTimeoutSecs: 25 })).toEqual([]);
    expect(adviceFor({ ...base, scheme: 'standard', doneTimeoutSecs: 25 })).toEqual([]);
  });
});
