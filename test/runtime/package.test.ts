import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listedNodes } from '../../scripts/build/manifest.mjs';
import { resolve } from 'node:path';
import { startChildNodeRed, type ChildNodeRed } from '../harness/child-node-red';

interface NodeSet {
  readonly id: string;
  readonly types: readonly string[];
  readonly enabled: boolean;
  readonly err?: string;
}

const listed = await listedNodes(resolve(import.meta.dirname, '../..'));

describe('the package in a Node-RED of its own', () => {
  let child: ChildNodeRed;
  beforeAll(async () => {
    child = await startChildNodeRed({ flows: [{ id: 'tab', type: 'tab' }] });
  });
  afterAll(() => child.remove());

  it('loads every node set without a complaint', async () => {
    const answer = await fetch(`${child.url}/nodes`, { headers: { accept: 'application/json' } });
    const sets = ((await answer.json()) as NodeSet[]).filter(({ id }) => id.startsWith('@sluice/node-red/'));
    expect(sets.flatMap(({ types }) => types).toSorted()).toEqual(Object.keys(listed).toSorted());
    expect(sets.filter(({ enabled, err }) => !enabled || err !== undefined)).toEqual([]);
    expect(child.log()).not.toMatch(/\[warn\].*@sluice/);
  });

  it('serves the html, icon and texts of each node to the editor', async () => {
    const html = await (await fetch(`${child.url}/nodes`, { headers: { accept: 'text/html' } })).text();
    for (const type of Object.keys(listed)) {
      expect(html.includes(`data-template-name="${type}"`), `the dialog of ${type}`).toBe(true);
      const icon = await fetch(`${child.url}/icons/@sluice/node-red/${type}.svg`);
      expect([type, icon.status, icon.headers.get('content-type')]).toEqual([type, 200, 'image/svg+xml']);
      const texts = await fetch(`${child.url}/locales/@sluice/node-red/${type}?lng=en-US`);
      expect(await texts.json()).toHaveProperty(type);
    }
  });

  it('is gone at once with SIGKILL, and runs the same flows again', async () => {
    await child.kill();
    await expect(fetch(child.url)).rejects.toThrow();
    const { userDir, port } = child;
    child = await startChildNodeRed({ userDir, port });
    const flows = (await (await fetch(`${child.url}/flows`)).json()) as { id: string }[];
    expect(flows.map(({ id }) => id)).toContain('tab');
  });
});
