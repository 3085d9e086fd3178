import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Deploys } from '#lib/node-red/deploys';

describe('whether a deploy is under way', () => {
  function running(longestMs?: number) {
    const events = new EventEmitter();
    const deploys = new Deploys(events, longestMs);
    const config = { flows: [] };
    events.emit('flows:started', { config });
    return { events, deploys, config };
  }

  it('N13 is true from the moment flows stop for another one until that runs', async () => {
    const { events, deploys } = running();
    expect(deploys.underway).toBeUndefined();
    const next = { flows: [] };
    events.emit('flows:stopping', { config: next });
    const { underway } = deploys;
    expect(underway).toBeInstanceOf(Promise);
    events.emit('flows:stopped', { config: next });
    expect(deploys.underway).toBe(underway);
    events.emit('flows:started', { config: next });
    await underway;
    expect(deploys.underway).toBeUndefined();
  });

  it('is false when the flows that run are stopped, as at a shutdown', () => {
    const { events, deploys, config } = running();
    events.emit('flows:stopping', { config });
    expect(deploys.underway).toBeUndefined();
  });

  it('ends after a while when the new flow never runs', async () => {
    const { events, deploys } = running(1);
    events.emit('flows:stopping', { config: { flows: [] } });
    await deploys.underway;
    expect(deploys.underway).toBeUndefined();
  });
});
