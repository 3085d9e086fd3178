import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, openBrowser, type Browser } from '../editor/browser';
import { importFlow, openEditor, validity } from '../editor/editor-page';
import { hasDashboard, installDashboard } from '../harness/dashboard';
import { makeUserDir, startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { allExamples, examples, readExample } from './example-flows';

const chromium = findChromium();
const withDashboard = hasDashboard();
/** An example carries none; its comment asks for them. */
const secrets: Readonly<Record<string, object>> = {
  'sluice-postgres-server': { username: 'writer' },
  'signed-webhook': { secret: 'it-is-a-secret' },
  'ingest-api': { token: 'it-is-a-token' },
};

describe.skipIf(!chromium)('in the editor', () => {
  let nodeRed: RunningNodeRed;
  let browser: Browser;

  beforeAll(async () => {
    const userDir = await makeUserDir();
    if (withDashboard) await installDashboard(userDir);
    nodeRed = await startNodeRed({
      userDir,
      settings: { editorTheme: { tours: false, palette: { catalogues: [] } } },
    });
    browser = await openBrowser(chromium ?? '');
    await openEditor(browser.page, nodeRed.url);
  });
  afterAll(async () => {
    await browser?.close();
    await nodeRed?.stop();
  });
  afterEach(() => expect(browser.complaints()).toEqual([]));

  it.each(withDashboard ? allExamples : examples)(
    '%s is imported without an invalid or unknown node',
    async (name) => {
      const nodes = readExample(name);
      const ids = await importFlow(
        browser.page,
        nodes.map((node) => ({ ...node, ...(secrets[node.type] && { credentials: secrets[node.type] }) })),
      );
      for (const node of nodes.filter(({ type }) => type !== 'tab')) {
        expect(await validity(browser.page, node.id), node.type).toEqual({ valid: true, reasons: [] });
      }
      expect(ids.length).toBe(nodes.length);
      expect(
        await browser.page.evaluate(
          (ids) => ids.filter((id) => window.RED.nodes.node(id)?.['type'] === 'unknown'),
          ids,
        ),
      ).toEqual([]);
    },
  );

  it.each(examples)('%s is offered in the import dialog', async (name) => {
    const { page } = browser;
    await page.evaluate(() => window.RED.actions.invoke('core:show-examples-import-dialog'));
    const dialog = page.locator('#red-ui-clipboard-dialog');
    await dialog.getByText('@sluice/node-red').click();
    await dialog.getByText(name, { exact: true }).waitFor();
    await page.locator('#red-ui-clipboard-dialog-cancel').click();
  });
});
