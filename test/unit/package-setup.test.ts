import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  definitionProblems,
  evaluateDefinition,
  printScript,
  CAPTURE,
} from '../../scripts/build/definition.mjs';
import { bar, resultOf } from '../../scripts/demo/report.mjs';
import { newTally } from '../../scripts/demo/sender.mjs';
import { isInstalled } from '../../scripts/setup/install.mjs';
import { adviceFor } from '../../scripts/setup/native-module.mjs';
import { isAtLeast } from '../../scripts/setup/node-version.mjs';
import { findChromium } from '../../scripts/test/chromium.mjs';

describe('isInstalled', () => {
  const locked = { '': {}, 'node_modules/a': { version: '1.0.0' } };

  it('sees a missing package and one of another version', () => {
    expect(isInstalled(locked, { 'node_modules/a': { version: '1.0.0' } })).toBe(true);
    expect(isInstalled(locked, { 'node_modules/a': { version: '1.0.1' } })).toBe(false);
    expect(isInstalled(locked, {})).toBe(false);
  });

  it('does without optional packages of other platforms', () => {
    expect(isInstalled({ 'node_modules/b': { version: '1.0.0', optional: true } }, {})).toBe(true);
  });
});

describe('isAtLeast', () => {
  it.each([
    ['20.19.0', true],
    ['20.20.2', true],
    ['22.1.0', true],
    ['20.9.0', false],
    ['18.20.8', false],
  ])('judges Node %s', (version, expected) => {
    expect(isAtLeast(version, '20.19.0')).toBe(expected);
  });
});

describe('adviceFor', () => {
  it('tells a module of another Node from one that was never built', () => {
    expect(
      adviceFor('was compiled against a different Node.js version using NODE_MODULE_VERSION 127'),
    ).toMatch(/npm rebuild better-sqlite3/);
    expect(adviceFor('Error: Could not locate the bindings file.')).toMatch(/python3 make g\+\+/);
  });
});

describe('findChromium', () => {
  it('prefers CHROMIUM_PATH, then PATH in its order', () => {
    const exists = (path: string) => path === '/b/google-chrome' || path === '/c/chromium';
    expect(findChromium({ CHROMIUM_PATH: '/x', PATH: '/b' }, exists)).toBe('/x');
    expect(findChromium({ PATH: '/a:/b:/c' }, exists)).toBe('/b/google-chrome');
    expect(findChromium({ PATH: '/a' }, () => false)).toBeUndefined();
  });
});

describe('the definition in the html', () => {
  const bundle = `const size = 1 + 1;
    ${CAPTURE}('a-node', { category: 'sluice', color: '#aabbcc', icon: 'a.svg', inputs: 1, outputs: size,
      defaults: { name: { value: '' }, 'odd-name': { value: 1 } }, label() { return RED._('x') + this.name; } });`;

  it('is printed as literals, with references for what is code', () => {
    const definition = evaluateDefinition(bundle, 'a-node');
    const script = printScript('a-node', bundle, definition);
    expect(script).toContain('outputs: 2,');
    expect(script).toContain('name: definition.defaults.name,');
    expect(script).toContain('"odd-name": definition.defaults["odd-name"],');
    expect(script).toContain('label: definition.label,');
    expect(definitionProblems(definition)).toEqual([]);
  });

  it('registers in the browser what the sources registered', () => {
    const script = printScript('a-node', bundle, evaluateDefinition(bundle, 'a-node'));
    const registered: unknown[] = [];
    const RED = { nodes: { registerType: (...args: unknown[]) => registered.push(args) } };
    runInNewContext(script, { RED });
    expect(registered).toMatchObject([['a-node', { outputs: 2, defaults: { name: { value: '' } } }]]);
  });

  it('is refused when the sources register another type or leave out what the palette needs', () => {
    expect(() => evaluateDefinition(bundle, 'b-node')).toThrow(/has to register "b-node".*a-node/);
    expect(definitionProblems({ category: 'config', defaults: {} })).toEqual([]);
    expect(definitionProblems({ category: 'sluice', defaults: {} })).toHaveLength(4);
  });
});

describe('the table of the demo', () => {
  it('counts what was accepted and never arrived as lost, what arrived again as duplicated', () => {
    const tally = newTally();
    tally.sent = 4;
    for (const order of [1, 2, 3]) tally.accepted.add(order);
    expect(resultOf(tally, [1, 1, 2, 4])).toEqual({
      sent: 4,
      accepted: 3,
      refused: 0,
      delivered: 3,
      duplicated: 1,
      lost: 1,
    });
  });

  it('draws progress', () => {
    expect(bar(0, 10)).toBe(`[${'.'.repeat(30)}]`);
    expect(bar(12, 10)).toBe(`[${'#'.repeat(30)}]`);
  });
});
