import { describe, expect, it } from 'vitest';
import { concludeQuiet, concludeTimeout, foldIncident, toError } from '#lib/delivery/lineage/conclusion';
import { DeliveryIds } from '#lib/delivery/lineage/delivery-id';
import { TimerWheel } from '#lib/delivery/lineage/timer-wheel';
import type { Timers } from '#lib/delivery/lineage/timers';
import { DeliveryError, type FailureClass } from '#lib/errors/errors';
import { watchErrors } from '#lib/node-red/error-patch';
import { installHooks } from '#lib/node-red/hooks';
import type { Hooks, RuntimeNode } from '#lib/node-red/types';

/** A clock that only moves when the test says so. */
class ManualTimers implements Timers {
  private timeMs = 1_000_000;
  private readonly periodic = new Set<{ periodMs: number; nextMs: number; callback: () => void }>();

  now = () => this.timeMs;
  soon = (callback: () => void) => callback();
  every = (periodMs: number, callback: () => void) => {
    const timer = { periodMs, nextMs: this.timeMs + periodMs, callback };
    this.periodic.add(timer);
    return () => void this.periodic.delete(timer);
  };

  get running() {
    return this.periodic.size;
  }

  /** Moves on in small steps, or in one leap, as after a blocked event loop. */
  advance(ms: number, stepMs = 10) {
    for (const end = this.timeMs + ms; this.timeMs < end;) {
      this.timeMs = Math.min(end, this.timeMs + stepMs);
      for (const timer of this.periodic) {
        if (timer.nextMs > this.timeMs) continue;
        timer.nextMs = this.timeMs + timer.periodMs;
        timer.callback();
      }
    }
  }
}

describe('the timer wheel', () => {
  it.each([0, 1, 49, 50, 999, 25_600, 60_000])(
    'expires after %i ms, never early, at most 150 ms late',
    (delayMs) => {
      const timers = new ManualTimers();
      timers.advance(17);
      const wheel = new TimerWheel(timers);
      const start = timers.now();
      let firedAt = 0;
      wheel.start(delayMs, () => (firedAt = timers.now()));
      timers.advance(delayMs + 200);
      expect(firedAt - start).toBeGreaterThanOrEqual(delayMs);
      expect(firedAt - start).toBeLessThanOrEqual(delayMs + 150);
      expect([wheel.size, timers.running]).toEqual([0, 0]);
    },
  );

  it('expires everything that became due while the process was blocked for minutes', () => {
    const timers = new ManualTimers();
    const wheel = new TimerWheel(timers);
    const fired: number[] = [];
    for (const delayMs of [10, 5_000, 30_000, 100_000]) wheel.start(delayMs, () => fired.push(delayMs));
    wheel.start(500_000, () => fired.push(500_000));
    timers.advance(200_000, 200_000);
    expect(fired.sort((a, b) => a - b)).toEqual([10, 5_000, 30_000, 100_000]);
    expect(wheel.size).toBe(1);
  });

  it('forgets what is stopped, and runs no timer while nothing waits', () => {
    const timers = new ManualTimers();
    const wheel = new TimerWheel(timers);
    let fired = 0;
    const stops = [1, 2, 3].map((delayMs) => wheel.start(delayMs, () => fired++));
    expect(timers.running).toBe(1);
    for (const stop of [...stops, ...stops]) stop();
    expect([wheel.size, timers.running]).toEqual([0, 0]);
    timers.advance(1000);
    expect(fired).toBe(0);
  });

  it('can be started again by what expires', () => {
    const timers = new ManualTimers();
    const wheel = new TimerWheel(timers);
    let rounds = 0;
    const again = () => {
      if (++rounds < 3) wheel.start(100, again);
    };
    wheel.start(100, again);
    timers.advance(1000);
    expect([rounds, wheel.size]).toEqual([3, 0]);
  });
});

describe('what an attempt comes to', () => {
  const error = (failure: FailureClass, retryAfterMs?: number) =>
    new DeliveryError('ERR_SLUICE_DELIVERY_TIMEOUT', failure, {
      failure,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  const incidentOf = (thrown: unknown) => ({ error: thrown, inCustody: false });
  const quiet = { incidents: undefined, untracked: undefined, absorbed: 1, reachedSink: false };

  it.each([
    ['permanent', ['permanent', 'permanent']],
    ['config', ['permanent', 'config', 'permanent']],
    ['transient', ['config', 'transient', 'permanent']],
  ] as const)('is %s after %s', (expected, failures) => {
    const folded = failures
      .map((failure) => error(failure))
      .map(incidentOf)
      .reduce(foldIncident, undefined as never);
    expect(folded.failure).toBe(expected);
    expect(folded.error.message).toBe(expected);
  });

  it('keeps the longest wait, whichever error asked for it', () => {
    const folded = [error('permanent', 300), error('transient'), error('config', 900), error('transient', 5)];
    expect(folded.map(incidentOf).reduce(foldIncident, undefined as never)).toMatchObject({
      failure: 'transient',
      retryAfterMs: 900,
    });
  });

  it('is done only if something took it, nothing failed and all could be tracked', () => {
    expect(concludeQuiet(quiet)).toEqual({ kind: 'done' });
    expect(concludeQuiet({ ...quiet, absorbed: 0 })).toMatchObject({ kind: 'aborted' });
    expect(concludeQuiet({ ...quiet, absorbed: 0, reachedSink: true })).toEqual({ kind: 'done' });
    expect(concludeQuiet({ ...quiet, untracked: new Set(['n']) })).toMatchObject({
      kind: 'unknown',
      open: ['n'],
    });
    const incidents = [{ error: 'text', inCustody: false }];
    expect(concludeQuiet({ ...quiet, incidents, untracked: new Set(['n']) })).toEqual({
      kind: 'failed',
      failure: 'transient',
      error: new Error('text'),
    });
    expect(concludeTimeout(undefined, ['n'])).toMatchObject({ kind: 'unknown', open: ['n'] });
    expect(concludeTimeout(incidents, ['n'])).toMatchObject({ kind: 'failed' });
  });

  it('does not count an error that ended in custody', () => {
    const incidents = [
      { error: error('transient'), inCustody: true },
      { error: error('permanent'), inCustody: false },
    ];
    expect(concludeQuiet({ ...quiet, incidents })).toMatchObject({ kind: 'failed', failure: 'permanent' });
    expect(concludeQuiet({ ...quiet, incidents: incidents.slice(0, 1) })).toEqual({ kind: 'done' });
  });

  it('makes an Error of whatever was thrown', () => {
    const original = new TypeError('x');
    expect(toError(original)).toBe(original);
    expect(toError('text').message).toBe('text');
    expect(toError({ message: 'from an object' }).message).toBe('from an object');
    expect(toError(undefined)).toBeInstanceOf(Error);
  });
});

describe('O1 delivery ids', () => {
  const part = (text: string) => new TextEncoder().encode(text);

  it('are the same for the same parts in any order, and different for equal parts', () => {
    const ids = (parts: string[]) => {
      const attempt = new DeliveryIds('record');
      return parts.map((text) => attempt.next('sink', part(text))).sort();
    };
    expect(ids(['a', 'a', 'b'])).toEqual(ids(['b', 'a', 'a']));
    expect(new Set(ids(['a', 'a', 'b'])).size).toBe(3);
  });

  it('of merged records depend on all of them, in whatever order', () => {
    const id = (...others: string[]) => new DeliveryIds('a').next('sink', part('sum'), others);
    expect(new Set([id(), id('b'), id('c'), id('b', 'c')]).size).toBe(4);
    expect(id('b')).toBe(id('b'));
    const attempt = new DeliveryIds('a');
    expect(attempt.next('sink', part('sum'), ['b'])).not.toBe(attempt.next('sink', part('sum'), ['b']));
  });

  it('differ by record and by sink', () => {
    const first = new DeliveryIds('record');
    const ids = [
      first.next('sink', part('a')),
      first.next('other sink', part('a')),
      new DeliveryIds('other record').next('sink', part('a')),
    ];
    expect(new Set(ids).size).toBe(3);
  });
});

describe('the hooks', () => {
  const noHandlers = {
    preRoute: () => {},
    preDeliver: () => {},
    onReceive: () => {},
    postReceive: () => {},
    onComplete: () => {},
  };

  function fakeHooks() {
    const added = new Map<string, (event: never) => unknown>();
    const add = (id: string, hook: (event: never) => unknown) => void added.set(id, hook);
    const remove = (id: string) => {
      for (const each of added.keys()) if (each.endsWith(id.slice(1))) added.delete(each);
    };
    return { added, hooks: { add, remove } as unknown as Hooks };
  }

  it('declare exactly one parameter, return nothing and never throw', () => {
    const { added, hooks } = fakeHooks();
    const faults: unknown[] = [];
    const boom = () => {
      throw new Error('boom');
    };
    const throwing = { ...noHandlers, preRoute: boom, onComplete: boom };
    const remove = installHooks(hooks, 'label', throwing, (fault) => faults.push(fault));
    expect(added.size).toBe(5);
    for (const hook of added.values()) {
      expect(hook.length).toBe(1);
      expect(hook({} as never)).toBeUndefined();
    }
    expect(faults).toHaveLength(2);
    remove();
    expect(added.size).toBe(0);
  });

  it('wrap node.error once, whoever watches', () => {
    const reported: unknown[] = [];
    class Base {
      _complete() {}
      error(error: unknown) {
        reported.push(error);
      }
    }
    class Derived extends Base {}
    const node = new Derived() as unknown as RuntimeNode;
    const seen: string[] = [];
    const faults: unknown[] = [];
    const onFault = (fault: unknown) => faults.push(fault);
    const watcher = (name: string) => ({
      raised: () => {
        seen.push(`${name} before ${reported.length}`);
        return () => void seen.push(`${name} after ${reported.length}`);
      },
    });
    const stopFirst = watchErrors(node, watcher('first'), onFault);
    const wrapped = Base.prototype.error;
    const stopSecond = watchErrors(node, watcher('second'), onFault);
    expect(Base.prototype.error).toBe(wrapped);
    node.error('x');
    expect(seen).toEqual(['first before 0', 'second before 0', 'first after 1', 'second after 1']);
    stopFirst?.();
    stopSecond?.();
    node.error('y');
    expect(seen).toHaveLength(4);
    expect(reported).toEqual(['x', 'y']);
    const stopThird = watchErrors(
      node,
      {
        raised() {
          throw new Error('boom');
        },
      },
      onFault,
    );
    node.error('z');
    stopThird?.();
    expect(reported).toEqual(['x', 'y', 'z']);
    expect(faults).toEqual([new Error('boom')]);
    expect(watchErrors({} as RuntimeNode, watcher('none'), onFault)).toBeUndefined();
  });
});
