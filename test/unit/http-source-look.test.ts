import { describe, expect, it } from 'vitest';
import { httpSourceLook, type HttpSourceState } from '#lib/node-red/http-source-look';

const running: HttpSourceState = {
  fault: undefined,
  isOpening: false,
  isRunning: true,
  notHandled: 0,
  trouble: undefined,
  untrackable: 0,
  accepted: 7,
};

describe('the status of an HTTP source', () => {
  const fault = new Error('disk');

  it.each<[string, Partial<HttpSourceState>, object]>([
    ['counts what it accepted', {}, { mood: 'ok', key: 'accepted', values: { count: 7 } }],
    ['names who refuses', { trouble: 'push' }, { mood: 'down', key: 'refusing', values: { sink: 'push' } }],
    ['says that the flow is not done', { trouble: 'flow' }, { mood: 'down', key: 'notDone' }],
    [
      'gives untrackable nodes as the reason for a flow that is not done',
      { trouble: 'flow', untrackable: 2 },
      { mood: 'waiting', key: 'untrackable', values: { count: 2 } },
    ],
    [
      'waits while Node-RED deploys',
      { isRunning: false, trouble: 'push' },
      { mood: 'waiting', key: 'paused' },
    ],
    [
      'keeps showing what was accepted and not handled, deploys or not',
      { isRunning: false, notHandled: 3 },
      { mood: 'down', key: 'notHandled', values: { count: 3 } },
    ],
    ['waits for its inbox', { isOpening: true }, { mood: 'waiting', key: 'opening' }],
    ['puts a broken inbox before all else', { fault, isOpening: true }, { mood: 'down', fault }],
  ])('%s', (_, state, look) => {
    expect(httpSourceLook({ ...running, ...state })).toEqual(look);
  });
});
