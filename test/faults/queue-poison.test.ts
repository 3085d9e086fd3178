import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '#lib/queue/sqlite-store';

const script = join(import.meta.dirname, 'queue-poison.child.mjs');

/** Runs a process over the queue until it ends. */
async function run(file: string, ordering: string) {
  const child = spawn(process.execPath, [script, file, ordering], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const signal = await new Promise<string | null>((resolve) => child.on('close', (_, by) => resolve(by)));
  const words = output.split('\n').map((line) => line.split(' '));
  return {
    killed: signal === 'SIGKILL',
    sent: words.filter(([what]) => what === 'sent').map(([, text = '']) => text),
    dead: words.filter(([what]) => what === 'dead').map(([, text, code]) => [text, code]),
  };
}

describe('a record that ends the process', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'sluice-poison-'));
    file = join(dir, 'push_queue.db');
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const texts = Array.from({ length: 200 }, (_, index) => (index === 100 ? 'poison0' : `r${index}`));
  const fill = async () => {
    const store = await openSqliteStore({ file });
    await Promise.all(texts.map((text) => store.append(Buffer.from(text))));
    await store.close();
  };

  it.each(['none', 'key', 'fifo'])('O5 is dead after three times, and alone (%s)', async (ordering) => {
    await fill();
    const runs = [];
    for (let round = 0; round < 6; round++) {
      const ended = await run(file, ordering);
      runs.push(ended);
      if (!ended.killed) break;
    }
    expect(runs.map(({ killed }) => killed)).toEqual([true, true, true, false]);
    expect(runs.flatMap(({ dead }) => dead)).toEqual([['poison0', 'ERR_SLUICE_QUEUE_CRASHES']]);
    const sent = new Set(runs.flatMap((each) => each.sent));
    expect(texts.filter((text) => !sent.has(text))).toEqual([]);
    const third = runs[2]?.sent ?? [];
    // The third time nothing was out with it, so that nothing else can have been the cause.
    expect(third.at(-1)).toBe('poison0');
    const store = await openSqliteStore({ file });
    expect(store.counts()).toMatchObject({ records: 0, dead: 1 });
    await store.close();
  });

  it('blames nobody for an end in good order', async () => {
    await fill();
    for (let round = 0; round < 4; round++) {
      const store = await openSqliteStore({ file });
      const leases = await store.lease(1000, 2 ** 24);
      expect(leases.map(({ crashes }) => crashes)).toEqual(texts.map(() => 0));
      await store.close();
    }
  });
});
