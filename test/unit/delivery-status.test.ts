import { describe, expect, it } from 'vitest';
import type { StatusDocument } from '#lib/api/status-document';
import { EMPTY_ACCOUNT } from '#lib/delivery/ledger';
import { fingerprint, lookOf } from '#nodes/delivery-status/delivery-status.status';

const withSinks = (...sinks: Record<string, unknown>[]): StatusDocument => ({
  ready: true,
  sinks,
  sources: [],
  engine: { webhooks: [], stats: { backpressured: 0, backpressure_lost: 0, late_sends: 0, unrouted: 0 } },
  ledger: { total: { ...EMPTY_ACCOUNT, difference: 0 }, sources: [] },
  alerts: [],
});

describe('what delivery-status takes for a change', () => {
  it('is anything but an age', () => {
    const before = fingerprint(withSinks({ id: 'q', records: 1, oldest_age_secs: 1, full_in_secs: 9 }));
    expect(fingerprint(withSinks({ id: 'q', records: 1, oldest_age_secs: 7, full_in_secs: 3 }))).toBe(before);
    expect(fingerprint(withSinks({ id: 'q', records: 2, oldest_age_secs: 1, full_in_secs: 9 }))).not.toBe(
      before,
    );
  });
});

describe('what delivery-status shows', () => {
  it.each([
    [['ok', 'ok'], { mood: 'ok', key: 'ok', values: { count: 2 } }],
    [['ok', 'high'], { mood: 'waiting', key: 'high', values: { count: 1 } }],
    [['full', 'high', 'full'], { mood: 'down', key: 'full', values: { count: 2 } }],
  ])('is the worst of %j', (levels, look) => {
    expect(lookOf(withSinks(...levels.map((level) => ({ level }))))).toEqual(look);
  });

  it('is that flows are not running, before anything else', () => {
    expect(lookOf({ ...withSinks({ level: 'full' }), ready: false })).toMatchObject({ key: 'paused' });
  });
});
