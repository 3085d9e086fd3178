import type { Page } from 'playwright-core';

/** The editor's own API inside the page, as far as these tests reach for it. */
interface PageRED {
  nodes: {
    getType(type: string): PageDefinition | undefined;
    node(id: string): PageNode | null;
    createExportableNodeSet(nodes: PageNode[]): Record<string, unknown>[];
    dirty(state: boolean): void;
  };
  view: { importNodes(nodes: object[], options: object): void; redraw(force: boolean): void };
  editor: {
    edit(node: PageNode): void;
    editConfig(name: string, type: string, id: string): void;
    validateNode(node: PageNode): void;
  };
  sidebar: { help: { show(type: string): void } };
  actions: { invoke(action: string): void };
}
interface PageDefinition {
  category: string;
  defaults: Record<string, { value: unknown }>;
}
interface PageNode {
  valid: boolean;
  validationErrors?: string[];
  [property: string]: unknown;
}
interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}
declare global {
  interface Window {
    RED: PageRED;
    axe: { run(context: string): Promise<{ violations: Violation[] }> };
  }
}

/** Loads the editor and waits until palette and flows are in place. */
export async function openEditor(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.locator('#red-ui-palette-container .red-ui-palette-node').first().waitFor();
  await page.locator('#red-ui-header-button-deploy').waitFor();
  await page.locator('#red-ui-loading-progress').waitFor({ state: 'hidden' });
}

let imported = 0;

/** Imports nodes as a paste does; resolves to their ids. */
export async function importFlow(page: Page, nodes: readonly object[]): Promise<string[]> {
  const ids = nodes.map((node) => String((node as { id?: unknown }).id));
  await page.evaluate(
    (nodes) => window.RED.view.importNodes(nodes, { generateIds: false, touchImport: true, addFlow: false }),
    [...nodes],
  );
  await page.waitForFunction((ids) => ids.every((id) => window.RED.nodes.node(id) !== null), ids);
  return ids;
}

/** Puts one node with the given properties onto the flow; resolves to its id. */
export async function addNode(page: Page, type: string, properties: object = {}): Promise<string> {
  const id = `sluice-test-${++imported}`;
  if ((await definitionOf(page, type))?.category === 'config') {
    await importFlow(page, [{ id, type, ...properties }]);
    return id;
  }
  await importFlow(page, [{ id, type, x: 200, y: 60 + imported * 40, wires: [], ...properties }]);
  return id;
}

/** Category and default values under which the editor knows a type. */
export async function definitionOf(page: Page, type: string) {
  return page.evaluate((type) => {
    const definition = window.RED.nodes.getType(type);
    if (!definition) return undefined;
    const defaults = Object.entries(definition.defaults).map(([name, { value }]) => [name, value] as const);
    return { category: definition.category, defaults: Object.fromEntries(defaults) };
  }, type);
}

export async function labelOf(page: Page, id: string): Promise<string> {
  return (await page.locator(`[id="${id}"] .red-ui-flow-node-label`).first().textContent()) ?? '';
}

/** Opens a node's dialog and waits until it has settled. */
export async function openDialog(page: Page, id: string) {
  await page.evaluate((id) => {
    const node = window.RED.nodes.node(id);
    if (!node) return;
    const { type } = node as unknown as { type: string };
    const isConfig = window.RED.nodes.getType(type)?.category === 'config';
    if (isConfig) window.RED.editor.editConfig('', type, id);
    else window.RED.editor.edit(node);
  }, id);
  const form = page.locator('.red-ui-tray .sluice-form');
  await form.waitFor();
  // The tray slides in, then takes the focus: before that, keys and clicks go astray.
  await page.waitForFunction(() => document.activeElement?.closest('.red-ui-tray-body') !== null);
  return form;
}

/** Leaves no dialog behind, whatever a test that failed has left open. */
export async function closeLeftovers(page: Page): Promise<void> {
  while ((await page.locator('.red-ui-tray').count()) > 0) await closeDialog(page, 'cancel');
}

export async function closeDialog(page: Page, button: 'ok' | 'cancel' = 'ok'): Promise<void> {
  await page.locator(`#node-dialog-${button}, #node-config-dialog-${button}`).click();
  await page.locator('.red-ui-tray').waitFor({ state: 'detached' });
}

/** Whether the editor takes the node for valid, and its reasons where not. */
export async function validity(page: Page, id: string) {
  return page.evaluate((id) => {
    const node = window.RED.nodes.node(id);
    if (!node) throw new Error(`no node ${id}`);
    window.RED.editor.validateNode(node);
    return { valid: node.valid, reasons: node.validationErrors ?? [] };
  }, id);
}

/** The node as an export has it. */
export async function exported(page: Page, id: string): Promise<Record<string, unknown>> {
  return page.evaluate((id) => {
    const node = window.RED.nodes.node(id);
    const [first] = node ? window.RED.nodes.createExportableNodeSet([node]) : [];
    if (!first) throw new Error(`no node ${id}`);
    return first;
  }, id);
}

/** Opens what the dialog keeps folded. */
export async function openAllParts(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const part of document.querySelectorAll<HTMLDetailsElement>('.sluice-form details'))
      part.open = true;
  });
}

/** Every text of the open form, hidden parts too, and the ids of inputs without an associated label. */
export async function readDialog(page: Page): Promise<{ texts: string[]; unlabelled: string[] }> {
  return page.locator('.red-ui-tray .sluice-form').evaluate((form) => {
    const texts: string[] = [];
    const walker = document.createTreeWalker(form, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) texts.push(walker.currentNode.textContent?.trim() ?? '');
    for (const element of form.querySelectorAll('*')) {
      for (const name of ['placeholder', 'title', 'aria-label']) {
        texts.push(element.getAttribute(name)?.trim() ?? '');
      }
    }
    const inputs = [...form.querySelectorAll<HTMLInputElement>('input, select, textarea')];
    const isLabelled = (input: HTMLInputElement) =>
      [...(input.labels ?? [])].some((label) => label.textContent?.trim() !== '');
    return {
      texts: texts.filter((text) => text !== ''),
      unlabelled: inputs.filter((input) => !isLabelled(input)).map((input) => input.id),
    };
  });
}

/** What axe-core (loaded into the page before) finds serious or critical in the open form. */
export async function seriousViolations(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { violations } = await window.axe.run('.red-ui-tray .sluice-form');
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      );
  });
}

/** Where Tab should stop in the open form: what can take the focus and is seen, top to bottom, left to right. */
export async function visibleStops(page: Page): Promise<string[]> {
  return page.locator('.red-ui-tray .sluice-form').evaluate((form) => {
    // What is inside a list that scrolls is seen where the list is.
    const placeOf = (element: HTMLElement) => {
      let place = element;
      for (let outer = element.parentElement; outer && outer !== form; outer = outer.parentElement) {
        if (outer.scrollHeight > outer.clientHeight && getComputedStyle(outer).overflowY === 'auto')
          place = outer;
      }
      return place.getBoundingClientRect();
    };
    return [...form.querySelectorAll<HTMLElement>('input, select, textarea, button, summary')]
      .filter((element) => element.getClientRects().length > 0)
      .map((element) => ({ element, box: placeOf(element) }))
      .sort((a, b) => {
        const isSameRow = a.box.top < b.box.bottom && b.box.top < a.box.bottom;
        return isSameRow ? a.box.left - b.box.left : a.box.top - b.box.top;
      })
      .map(({ element }) => element.id || element.className || element.tagName);
  });
}

/** Where Tab does stop, from the first input on. */
export async function tabStops(page: Page, count: number): Promise<string[]> {
  const stops: string[] = [];
  await page.locator('.red-ui-tray [id$="-input-name"]').first().focus();
  for (let index = 0; index < count; index++) {
    if (index > 0) await page.keyboard.press('Tab');
    stops.push(
      await page.evaluate(() => {
        const element = document.activeElement;
        return element?.id || element?.className || element?.tagName || '';
      }),
    );
  }
  return stops;
}
