import { describe, expect, it } from 'vitest';
import { statusOf } from '#nodes/push-queue/push-queue.status';
import type { SinkStatus } from '#lib/delivery/contract';

const sink = (records: number, dead: number): SinkStatus => ({
  level: 'ok',
  dropped: 0,
  blocked: 0,
  delivered: 0,
  records,
  dead,
});

describe('what a push queue shows', () => {
  it('shows its dead letters, not that it is empty', () => {
    expect(statusOf(undefined, 'idle', sink(0, 0), 0)).toEqual(['ok', { key: 'empty' }]);
    const dead = ['waiting', { key: 'dead', values: { count: 2 } }];
    expect(statusOf(undefined, 'idle', sink(0, 2), 0)).toEqual(dead);
    expect(statusOf(undefined, 'delivering', sink(5, 2), 1)).toEqual(dead);
  });

  it('shows first what keeps records from being delivered', () => {
    const [mood, text] = statusOf(undefined, 'retrying', sink(5, 2), 0);
    expect([mood, text]).toMatchObject(['waiting', { key: 'retrying' }]);
  });
});
