import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startNodeRed, type RunningNodeRed } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { findChromium, openBrowser, type Browser } from './browser';
import {
  addNode,
  closeDialog,
  closeLeftovers,
  definitionOf,
  exported,
  importFlow,
  labelOf,
  openAllParts,
  openDialog,
  openEditor,
  readDialog,
  seriousViolations,
  tabStops,
  validity,
  visibleStops,
} from './editor-page';
import { canvasTypes, configOf, NEEDED, nodeTypes, textsOf } from './node-types';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const chromium = findChromium();
/** The input of a property, in the dialog of a node or of a configuration node. */
const inputOf = (name: string) => `.red-ui-tray [id$="-input-${name}"]`;

describe.skipIf(!chromium)('in the editor', () => {
  let nodeRed: RunningNodeRed;
  let browser: Browser;

  beforeAll(async () => {
    nodeRed = await startNodeRed({
      settings: { editorTheme: { tours: false, palette: { catalogues: [] } } },
    });
    browser = await openBrowser(chromium ?? '');
    await openEditor(browser.page, nodeRed.url);
    await browser.page.addScriptTag({ path: axe });
  });
  afterAll(async () => {
    await browser?.close();
    await nodeRed?.stop();
  });
  afterEach(async () => {
    await closeLeftovers(browser.page);
    expect(browser.complaints()).toEqual([]);
  });

  it('loads without a complaint and knows every node type in nodes/', async () => {
    for (const type of nodeTypes) expect(await definitionOf(browser.page, type), type).toBeDefined();
  });

  describe.each(canvasTypes)('%s on the canvas', (type) => {
    const { fields } = configOf(type);
    const needed = NEEDED[type] ?? {};
    const names = Object.keys(fields);

    it('is in the palette under "sluice", with its icon', async () => {
      const entry = browser.page.locator(
        `#red-ui-palette-container-sluice .red-ui-palette-node[data-palette-type="${type}"]`,
      );
      await entry.scrollIntoViewIfNeeded();
      expect((await entry.innerText()).replaceAll('\n', ' ')).toBe(
        textsOf(type).get(`${type}.label.palette`),
      );
      const icon = await entry
        .locator('.red-ui-palette-icon')
        .evaluate((el) => getComputedStyle(el).backgroundImage);
      const url = /url\("([^"]+)"\)/.exec(icon)?.[1] ?? '';
      expect(url).toContain(`${type}.svg`);
      expect((await fetch(url)).headers.get('content-type')).toContain('svg');
    });

    it('can be dragged onto the canvas, with the defaults of its config', async () => {
      const { page } = browser;
      const ids = () => page.locator('.red-ui-flow-node-group').evaluateAll((all) => all.map((el) => el.id));
      const before = await ids();
      await page
        .locator(`.red-ui-palette-node[data-palette-type="${type}"]`)
        .dragTo(page.locator('#red-ui-workspace-chart'), { targetPosition: { x: 500, y: 300 } });
      let added: string | undefined;
      await waitFor('the dragged node', async () => {
        added = (await ids()).find((id) => !before.includes(id));
        return added !== undefined;
      });
      const saved = await exported(page, added ?? '');
      for (const name of names) {
        expect(saved[name], name).toEqual(fields[name]?.default);
      }
    });

    it('has the defaults of its config, and no credential among them', async () => {
      const definition = await definitionOf(browser.page, type);
      expect(definition?.category).toBe('sluice');
      expect(definition?.defaults).toEqual(
        Object.fromEntries(names.map((name) => [name, fields[name]?.default])),
      );
    });

    it('keeps its values through an export and an import', async () => {
      const { page } = browser;
      const defaults = Object.fromEntries(names.map((name) => [name, fields[name]?.default]));
      const id = await addNode(page, type, { ...defaults, ...needed, name: 'round trip' });
      const first = await exported(page, id);
      const [copy] = await importFlow(page, [{ ...first, id: `${id}-copy` }]);
      expect({ ...(await exported(page, copy ?? '')), id, x: first['x'], y: first['y'] }).toEqual(first);
    });

    it('is called by its name, else by something that tells it apart', async () => {
      const { page } = browser;
      expect(await labelOf(page, await addNode(page, type, { ...needed, name: 'mine' }))).toBe('mine');
      const unnamed = await labelOf(page, await addNode(page, type, needed));
      expect(unnamed).not.toBe('');
      expect(unnamed).not.toContain('undefined');
    });
  });

  describe.each(nodeTypes)('%s', (type) => {
    const { fields } = configOf(type);
    const needed = NEEDED[type] ?? {};
    const names = Object.keys(fields);

    it('opens its dialog with a text and a label everywhere', async () => {
      const { page } = browser;
      await openDialog(page, await addNode(page, type, needed));
      await openAllParts(page);
      const { texts, unlabelled } = await readDialog(page);
      expect(unlabelled).toEqual([]);
      expect(texts.length).toBeGreaterThan(5);
      expect(
        texts.filter((text) => /@sluice\/|\b(sluice|[a-z]+-[a-z]+)\.\w+\.\w+|__\w+__/.test(text)),
      ).toEqual([]);
      await closeDialog(page, 'cancel');
    });

    it('opens its dialog without a serious finding of axe', async () => {
      const { page } = browser;
      await openDialog(page, await addNode(page, type, needed));
      await openAllParts(page);
      expect(await seriousViolations(page)).toEqual([]);
      await closeDialog(page, 'cancel');
    });

    it('visits its inputs by Tab in the order in which they are seen', async () => {
      const { page } = browser;
      await openDialog(page, await addNode(page, type, needed));
      await openAllParts(page);
      const seen = await visibleStops(page);
      expect(seen.length).toBeGreaterThanOrEqual(Math.min(names.length, 3));
      expect(await tabStops(page, seen.length)).toEqual(seen);
      await closeDialog(page, 'cancel');
    });

    it('is unchanged by a dialog that was opened and confirmed', async () => {
      const { page } = browser;
      const defaults = Object.fromEntries(names.map((name) => [name, fields[name]?.default]));
      const id = await addNode(page, type, { ...defaults, ...needed });
      await openDialog(page, id);
      await closeDialog(page);
      const saved = await exported(page, id);
      for (const name of names) {
        const value = { ...defaults, ...needed }[name];
        expect(String(saved[name]), name).toBe(String(value));
      }
    });

    it('gets defaults for properties that its flow was saved without', async () => {
      const { page } = browser;
      const id = await addNode(page, type, needed);
      await openDialog(page, id);
      await closeDialog(page);
      const saved = await exported(page, id);
      const withInput = names.filter((name) => saved[name] !== undefined);
      expect(withInput.length).toBeGreaterThan(names.length - 3);
      for (const name of withInput) {
        expect(String(saved[name]), name).toBe(String(needed[name] ?? fields[name]?.default));
      }
      expect(await validity(page, id)).toEqual({ valid: true, reasons: [] });
    });

    it('is marked invalid, with the reason, by a value that will not do', async () => {
      const { page } = browser;
      const number = names.find((name) => typeof fields[name]?.default === 'number');
      // A type without any number has something that is required.
      const required = Object.keys(needed)[0] ?? '';
      const [name, wrong, reason, right] =
        number === undefined
          ? [required, '', 'Required', String(needed[required])]
          : [number, 'many', 'Must be a number', '7'];
      const id = await addNode(page, type, { ...needed, [name]: wrong });
      expect(await validity(page, id)).toEqual({ valid: false, reasons: [reason] });
      await openDialog(page, id);
      const input = page.locator(inputOf(name));
      expect(await input.getAttribute('aria-invalid')).toBe('true');
      expect(await page.locator(inputOf(`${name}-reason`)).innerText()).toBe(reason);
      await input.fill(right);
      expect(await input.getAttribute('aria-invalid')).toBe('false');
      await closeDialog(page);
      expect(await validity(page, id)).toEqual({ valid: true, reasons: [] });
    });

    it('shows its help', async () => {
      const { page } = browser;
      await page.evaluate((type) => window.RED.sidebar.help.show(type), type);
      const help = page.locator('.red-ui-help', { hasText: 'References' });
      await help.first().waitFor();
      expect(await help.first().locator('h3').allInnerTexts()).toContain('Details');
    });
  });

  it('O12 O16 explains both policies of a push queue, and refuses block for one in memory', async () => {
    const { page } = browser;
    const id = await addNode(page, 'push-queue', { enabled: true, queue: 'o12' });
    const form = await openDialog(page, id);
    await form.getByText('For machine telemetry').waitFor();
    await page.selectOption('#node-input-onFull', 'block');
    await form.getByText('For business flows').waitFor();
    expect(await form.getByText('For machine telemetry').isVisible()).toBe(false);
    await page.locator('#node-input-enabled').uncheck();
    expect(await page.locator('#node-input-onFull-reason').innerText()).toContain('needs a durable queue');
    await page.locator('#node-input-enabled').check();
    await page.fill('#node-input-maxQuotaMb', '0');
    expect(await page.locator('#node-input-onFull-reason').isVisible()).toBe(false);
    expect(await page.locator('#node-input-maxQuotaMb-reason').innerText()).toContain('more than 0');
    await closeDialog(page);
    expect((await validity(page, id)).reasons).toEqual(['Must be more than 0 when new records are refused']);
  });

  it('O15 says in the form when a changed policy applies', async () => {
    const { page } = browser;
    const form = await openDialog(page, await addNode(page, 'push-queue', { queue: 'o15' }));
    expect(await form.innerText()).toContain('A change applies when this node is deployed');
    await closeDialog(page, 'cancel');
  });

  it('N9 warns about senders that never try again, and proposes the inbox', async () => {
    const { page } = browser;
    const id = await addNode(page, 'signed-webhook', { hook: 'n9' });
    const form = await openDialog(page, id);
    const warning = form.locator('[data-advice=refusalLoses]');
    expect(await warning.isVisible()).toBe(false);
    await page.selectOption('#node-input-scheme', 'github');
    await warning.waitFor();
    await warning.getByRole('button').click();
    await form.locator('[data-advice=fullLoses]').waitFor();
    expect(await warning.isVisible()).toBe(false);
    await page.locator('#node-input-acceptWhileFull').check();
    expect(await form.locator('[data-advice]:visible').count()).toBe(0);
    await page.fill('#node-input-secret', 'it-is-a-secret');
    await closeDialog(page);
    const saved = await exported(page, id);
    expect(saved).toMatchObject({ scheme: 'github', respond: 'on_receipt', acceptWhileFull: true });
    expect(JSON.stringify(saved)).not.toContain('it-is-a-secret');
  });

  it('shows the URL of a hook, and what a generic scheme needs', async () => {
    const { page } = browser;
    const form = await openDialog(page, await addNode(page, 'signed-webhook'));
    await page.fill('#node-input-hook', 'no spaces');
    expect(await page.locator('#node-input-hook-reason').innerText()).toContain('not allowed');
    await page.fill('#node-input-hook', 'orders');
    expect(await form.locator('[data-text=url]').innerText()).toBe(`${nodeRed.url}/api/hooks/orders`);
    await form.getByRole('button', { name: 'Copy URL' }).click();
    await page.getByText('Value copied').waitFor();
    expect(await page.locator('#node-input-header').isVisible()).toBe(false);
    await page.selectOption('#node-input-scheme', 'generic');
    expect(await page.locator('#node-input-header-reason').innerText()).toContain('Required');
    await page.fill('#node-input-header', 'X-Signature');
    expect(await page.locator('#node-input-header-reason').isVisible()).toBe(false);
    await closeDialog(page, 'cancel');
  });

  it.each([
    ['signed-webhook', { hook: 'bare' }, 'secret', 'Secret is required'],
    ['ingest-api', { source: 'bare' }, 'token', 'Token is required'],
    ['rest-sink', { url: 'http://127.0.0.1:9/', auth: 'bearer' }, 'token', 'Token is required'],
  ])('marks a %s without its secret on the canvas until it has one', async (type, saved, secret, reason) => {
    const { page } = browser;
    const id = await addNode(page, type, saved);
    await waitFor('the mark', async () => !(await validity(page, id)).valid);
    expect((await validity(page, id)).reasons).toEqual([reason]);
    await openDialog(page, id);
    expect(await page.locator(`#node-input-${secret}-reason`).innerText()).toBe('Required');
    expect(await page.locator('#node-input-name').getAttribute('class')).not.toContain('input-error');
    await page.fill(`#node-input-${secret}`, ' it-is-a-secret');
    expect(await page.locator(`#node-input-${secret}-reason`).innerText()).toContain('Begins or ends');
    await page.fill(`#node-input-${secret}`, 'it-is-a-secret');
    expect(await page.locator(`#node-input-${secret}-reason`).isVisible()).toBe(false);
    await closeDialog(page);
    expect(await validity(page, id)).toEqual({ valid: true, reasons: [] });
  });

  it('takes a deployed node with a secret for valid, and asks the runtime for no more than that', async () => {
    const { page } = browser;
    const node = { id: 'deployed', type: 'signed-webhook', z: 'deployed-tab', x: 100, y: 100, wires: [[]] };
    await nodeRed.deploy([
      { id: 'deployed-tab', type: 'tab', label: 'deployed' },
      { ...node, hook: 'deployed', credentials: { secret: 'it-is-a-secret' } },
    ]);
    const answer = page.waitForResponse((response) => response.url().endsWith('/signed-webhook/deployed'));
    await openEditor(page, nodeRed.url);
    await page.addScriptTag({ path: axe });
    expect(await (await answer).json()).toEqual({ has_secret: true, has_previousSecret: false });
    expect(await validity(page, 'deployed')).toEqual({ valid: true, reasons: [] });
  });

  it('asks a rest sink for http:// or https://', async () => {
    const { page } = browser;
    const id = await addNode(page, 'rest-sink', { url: 'service.example/orders' });
    expect((await validity(page, id)).reasons).toEqual(['Must begin with http:// or https://']);
    const saved = await addNode(page, 'rest-sink', { url: 'https://me:secret@service.example/orders' });
    expect((await validity(page, saved)).reasons).toEqual([expect.stringContaining('user and password')]);
  });

  it('keeps the buttons of a TLS configuration inside the form', async () => {
    const { page } = browser;
    const form = await openDialog(page, await addNode(page, 'rest-sink', NEEDED['rest-sink']));
    await openAllParts(page);
    const frame = await form.locator('details:has(#node-input-tls)').boundingBox();
    for (const button of await form.locator('details .sluice-field a.red-ui-button').all()) {
      const box = await button.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan((frame?.x ?? 0) + (frame?.width ?? 0));
    }
    await closeDialog(page, 'cancel');
  });

  it('asks for the clock only where a time is signed', async () => {
    const { page } = browser;
    const form = await openDialog(page, await addNode(page, 'signed-webhook', NEEDED['signed-webhook']));
    await openAllParts(page);
    const tolerance = form.locator('#node-input-toleranceSecs');
    expect(await tolerance.isVisible()).toBe(true);
    await page.selectOption('#node-input-scheme', 'github');
    expect(await tolerance.isVisible()).toBe(false);
    await page.selectOption('#node-input-scheme', 'generic');
    expect(await form.locator('#node-input-timestampUnit').isVisible()).toBe(false);
    await page.fill('#node-input-timestampHeader', 'X-Time');
    expect(await form.locator('#node-input-timestampUnit').isVisible()).toBe(true);
    expect(await tolerance.isVisible()).toBe(true);
    await closeDialog(page, 'cancel');
  });

  it('accepts an environment variable as a hook', async () => {
    const { page } = browser;
    for (const hook of ['${HOOK}', 'site-${HOOK}']) {
      const id = await addNode(page, 'signed-webhook', { hook, credentials: { secret: 'it-is-a-secret' } });
      expect(await validity(page, id)).toEqual({ valid: true, reasons: [] });
    }
  });
});
