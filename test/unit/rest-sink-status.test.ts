import { describe, expect, it } from 'vitest';
import { lookOf } from '#nodes/rest-sink/rest-sink.status';

const idle = {
  level: 'ok',
  dropped: 0,
  blocked: 0,
  delivered: 0,
  backlog: 0,
  max_backlog: 2,
  requests: 0,
  paused_secs: 0,
} as const;

describe('lookOf', () => {
  it.each([
    ['ready', idle, undefined, { mood: 'ok', key: 'ready' }],
    ['busy', { ...idle, requests: 1 }, undefined, { mood: 'working', key: 'sending' }],
    ['the last failure over busy', { ...idle, requests: 1 }, 'REST_TLS', { mood: 'down', label: 'REST_TLS' }],
    [
      'a pause over the last failure',
      { ...idle, paused_secs: 3 },
      'REST_BUSY',
      { mood: 'waiting', key: 'paused' },
    ],
    [
      'a full backlog over all',
      { ...idle, backlog: 2, paused_secs: 3 },
      'REST_BUSY',
      { mood: 'down', key: 'full' },
    ],
  ] as const)('shows %s', (_, status, failure, expected) => {
    expect(lookOf(status, failure)).toEqual(expected);
  });
});
