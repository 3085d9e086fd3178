import { describe, expect, it } from 'vitest';
import { asyncStoresOf } from '#lib/node-red/untrackable-nodes';

describe('the context stores that answer later', () => {
  const memory = { module: 'memory' };
  const cached = { module: 'localfilesystem' };
  const uncached = { module: 'localfilesystem', config: { cache: false } };
  const foreign = { module: () => ({}) };

  it.each<[string, Record<string, unknown> | undefined, string[]]>([
    ['are none without a setting', undefined, []],
    ["are none of Node-RED's own", { default: memory, file: cached }, []],
    ['are file stores without cache', { default: memory, slow: uncached }, ['slow']],
    ['are all that others made', { default: 'mine', mine: foreign, m: memory }, ['mine', 'default']],
    ['are the default one, where that is', { default: uncached }, ['default']],
    ['are the first one for keys that name none', { slow: uncached, m: memory }, ['slow', 'default']],
  ])('%s', (_, contextStorage, expected) => {
    const settings = contextStorage === undefined ? {} : { contextStorage };
    expect([...asyncStoresOf(settings)]).toEqual(expected);
  });
});
