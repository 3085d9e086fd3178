import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../scripts/node-red/ports.mjs';
import { faultsOf } from '../../scripts/node-red/ready.mjs';
import {
  definitionProblems,
  evaluateDefinition,
  printScript,
  CAPTURE,
} from '../../scripts/build/definition.mjs';
import { lockProblems } from '../../scripts/check/lockfile.mjs';
import { bar, resultOf } from '../../scripts/demo/report.mjs';
import { newTally } from '../../scripts/demo/sender.mjs';
import { COMPILES, isInstalled } from '../../scripts/setup/install.mjs';
import { buildAdvice, buildEnv, sameCommand } from '../../scripts/setup/native-build.mjs';
import { reasonOf } from '../../scripts/setup/native-module.mjs';
import { isAtLeast } from '../../scripts/setup/node-version.mjs';
import { followPort } from '../../scripts/start/first-flow.mjs';
import { findRunning, forgetRunning, noteRunning } from '../../scripts/start/running.mjs';
import { colours } from '../../scripts/terminal/colour.mjs';
import { startWaiting } from '../../scripts/terminal/waiting.mjs';
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

describe('lockProblems', () => {
  const manifest = { dependencies: { a: '^1.0.0' } };
  const packages = {
    '': manifest,
    'node_modules/a': { dependencies: { b: '1' }, optionalDependencies: { '@c/native': '1' } },
    'node_modules/a/node_modules/b': { dependencies: { a: '1' } },
    'node_modules/@c/native': {},
  };

  it('finds nothing where the lock has all that npm ci asks for', () => {
    expect(lockProblems(manifest, packages)).toEqual([]);
  });

  it('finds an optional package of another platform that the lock lacks', () => {
    const { 'node_modules/@c/native': _, ...less } = packages;
    expect(lockProblems(manifest, less)).toEqual([
      'node_modules/a needs @c/native, which is not in the lock: npm ci fails',
    ]);
  });

  it('finds what package.json and the lock say differently, and an address of a registry', () => {
    expect(lockProblems({ dependencies: { a: '^1.1.0' } }, packages)).toHaveLength(1);
    expect(lockProblems({ ...manifest, devDependencies: { d: '1' } }, packages)).toHaveLength(1);
    expect(
      lockProblems(manifest, {
        ...packages,
        'node_modules/@c/native': { resolved: 'https://packages.test/c.tgz' },
      }),
    ).toEqual(['node_modules/@c/native names its registry: remove "resolved"']);
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

describe('reasonOf', () => {
  it('tells a module of another Node from one that was never built', () => {
    expect(
      reasonOf('was compiled against a different Node.js version using NODE_MODULE_VERSION 127'),
    ).toMatch(/another version of Node\.js/);
    expect(reasonOf('Error: Could not locate the bindings file.')).toMatch(/cannot be loaded: Error: Could/);
  });

  it.each([
    'prebuild-install warn install No prebuilt binaries found',
    'gyp info it worked if it ends with ok',
  ])('sees in %j that npm compiles', (line) => {
    expect(COMPILES.test(line)).toBe(true);
    expect(COMPILES.test('added 512 packages in 40s')).toBe(false);
  });
});

describe('compiling the native module', () => {
  const prefix = mkdtempSync(join(tmpdir(), 'sluice-prefix-'));
  const node = join(prefix, 'bin/node');
  afterAll(() => rmSync(prefix, { recursive: true }));

  it('takes the headers that this Node.js came with, unless others are set', () => {
    expect(buildEnv(node, {})).toEqual({});
    mkdirSync(join(prefix, 'include/node'), { recursive: true });
    writeFileSync(join(prefix, 'include/node/node.h'), '');
    expect(buildEnv(node, {})).toEqual({ npm_config_nodedir: prefix });
    expect(buildEnv(node, { npm_config_nodedir: '/elsewhere' })).toEqual({});
  });

  it('tells headers that cannot be downloaded from a compiler that is missing', () => {
    expect(buildAdvice('gyp ERR! stack is related to network connectivity. In most cases you are')).toMatch(
      /headers of Node\.js.*nodedir/s,
    );
    for (const output of [
      'gyp ERR! find Python',
      'gyp ERR! stack Error: not found: make',
      'make: g++: No such file',
    ])
      expect(buildAdvice(output)).toMatch(/apt-get install python3 make g\+\+/);
  });

  it('advises the command that was given', () => {
    expect([sameCommand('start'), sameCommand('test'), sameCommand('demo'), sameCommand('')]).toEqual([
      'npm start',
      'npm test',
      'npm run demo',
      'the same command',
    ]);
  });
});

describe('the first flow', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-first-'));
  const file = join(folder, 'flows.json');
  const urls = () => (JSON.parse(readFileSync(file, 'utf8')) as { url: string }[]).map(({ url }) => url);
  const write = (id: string, url: string) =>
    writeFileSync(file, JSON.stringify([{ id, type: 'rest-sink', url }]));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('follows Node-RED to another port', async () => {
    await followPort(folder, 8080);
    write('5f1c0a7e00000005', 'http://127.0.0.1:1880/demo/orders');
    await followPort(folder, 8080);
    expect(urls()).toEqual(['http://127.0.0.1:8080/demo/orders']);
  });

  it('keeps a URL that its user chose, and what other nodes have', async () => {
    write('5f1c0a7e00000005', 'http://127.0.0.1:1880/orders');
    await followPort(folder, 8080);
    expect(urls()).toEqual(['http://127.0.0.1:1880/orders']);
    write('another', 'http://127.0.0.1:1880/demo/orders');
    await followPort(folder, 8080);
    expect(urls()).toEqual(['http://127.0.0.1:1880/demo/orders']);
  });
});

describe('faultsOf', () => {
  it('names what cannot work once, and nothing that is only being opened', () => {
    const queue = { name: 'orders', fault: 'ERR_SLUICE_QUEUE_LOCKED' };
    const opening = { name: 'more', fault: 'ERR_SLUICE_QUEUE_OPENING' };
    const status = { ready: true, sinks: [queue, opening], sources: [queue, { name: 'hook', fault: null }] };
    expect(faultsOf(status)).toEqual(['orders: ERR_SLUICE_QUEUE_LOCKED']);
  });
});

describe('the note of who runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-note-'));
  const note = join(folder, 'running.json');
  afterAll(() => rmSync(folder, { recursive: true }));
  const old = () => utimesSync(note, 0, 0);

  it('counts while the process lives and starts, or its port is in use', async () => {
    expect(await findRunning(note)).toBeUndefined();
    noteRunning(note, await freePort(), [process.pid]);
    expect(await findRunning(note)).toMatchObject({ pids: [process.pid] });
    old();
    expect(await findRunning(note)).toBeUndefined();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    noteRunning(note, port, [process.pid]);
    old();
    expect(await findRunning(note)).toEqual({ port, pids: [process.pid] });
    server.close();
    forgetRunning(note);
    expect(await findRunning(note)).toBeUndefined();
  });

  it('is passed over when its process is gone or it cannot be read', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    noteRunning(note, 1, [pid]);
    expect(await findRunning(note)).toBeUndefined();
    writeFileSync(note, '{');
    expect(await findRunning(note)).toBeUndefined();
  });
});

describe('the terminal', () => {
  const terminal = (isTTY: boolean) => {
    let text = '';
    const out = { isTTY, write: (part: string) => (text += part) } as unknown as NodeJS.WriteStream;
    return { out, text: () => text };
  };

  it('gets colour only where it is one, and NO_COLOR does not ask for none', () => {
    expect(colours({ isTTY: true }, {}).bold('x')).not.toBe('x');
    expect(colours({ isTTY: true }, { NO_COLOR: '1' }).bold('x')).toBe('x');
    expect(colours({ isTTY: true }, { TERM: 'dumb' }).bold('x')).toBe('x');
    expect(colours({ isTTY: false }, {}).bold('x')).toBe('x');
  });

  it('is told how long a thing takes, in lines where nothing can be redrawn', () => {
    vi.useFakeTimers();
    try {
      const { out, text } = terminal(false);
      const waiting = startWaiting('Installing', out);
      vi.advanceTimersByTime(31_000);
      waiting.goOn('Compiling');
      expect(waiting.end()).toBe(31);
      expect(text()).toBe('Installing …\n  Installing … 15 s\n  Installing … 30 s\n  Compiling … 31 s\n');
    } finally {
      vi.useRealTimers();
    }
  });

  it('has one line that turns, and none of it left', () => {
    vi.useFakeTimers();
    try {
      const { out, text } = terminal(true);
      const waiting = startWaiting('Installing', out);
      vi.advanceTimersByTime(2_000);
      waiting.end();
      expect(text()).toContain('Installing … 2 s');
      expect(text()).not.toContain('\n');
      expect(text().endsWith('\r\u001b[2K')).toBe(true);
    } finally {
      vi.useRealTimers();
    }
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
