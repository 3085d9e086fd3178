import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const main = join(root, 'dist/lib/cli/main.js');
let folder: string;

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function sluice(...args: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, stdout, stderr }));
  });
}

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const flows = [
  { id: 'T', type: 'tab', label: 'Orders' },
  { id: 'W', type: 'signed-webhook', z: 'T', name: 'orders', hook: 'shop', wires: [['f']] },
  {
    id: 'f',
    type: 'function',
    z: 'T',
    func: 'setTimeout(() => node.send(msg), 9);',
    wires: [['Q', 'x', 'm']],
  },
  { id: 'Q', type: 'push-queue', z: 'T', queue: 'orders', wires: [['S']] },
  { id: 'S', type: 'rest-sink', z: 'T', name: 'warehouse', wires: [] },
  { id: 'm', type: 'mqtt out', z: 'T' },
  { id: 'SF', type: 'subflow', name: 'enrich', in: [{ wires: [{ id: 'j' }] }], out: [] },
  { id: 'j', type: 'junction', z: 'SF', wires: [[]] },
  { id: 'I', type: 'ingest-api', z: 'SF', wires: [[]] },
  { id: 'x', type: 'subflow:SF', z: 'T', name: 'enrich', wires: [] },
  { id: 'y', type: 'subflow:SF', z: 'T', name: 'twin', wires: [] },
  { id: 'a', type: 'ingest-api', z: 'T', name: 'twin', source: 'plant', wires: [] },
  { id: 'T2', type: 'tab', label: 'Parcels' },
  { id: 'P', type: 'push-queue', z: 'T2', queue: 'parcels', wires: [] },
  { id: 'off', type: 'ingest-api', z: 'T', d: true, wires: [] },
];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('sluice reach', () => {
  it('O17 prints what a source reaches, and why, for people', async () => {
    const { status, stdout, stderr } = await sluice('reach', file('flows.json', flows), 'orders');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      'signed-webhook "orders" (W) reaches 2 sinks',
      '  push-queue (Q)',
      '  rest-sink "warehouse" (S), for safety',
    ]);
    expect(stdout).toContain('passes subflow instance "enrich" (x)');
    expect(stdout).toContain('function (f): the code sends from a callback');
    expect(stdout).toContain('mqtt out (m): may come back');
  });

  it('O17 prints JSON for scripts, of an exported {flows} document, too', async () => {
    const path = file('export.json', '\uFEFF' + JSON.stringify({ flows, rev: '1' }));
    const { status, stdout } = await sluice('reach', path, 'W', '--json');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      source: 'W',
      sinks: ['Q', 'S'],
      certain: ['Q'],
      conservative: true,
      why: ['passes subflow instance "enrich" (x)'],
      untrackable: [{ id: 'f', type: 'function' }],
      notAnalysed: [{ id: 'm', type: 'mqtt out' }],
    });
  });

  it('O17 walks through subflows on request', async () => {
    const args = ['reach', file('flows.json', flows), 'W', '--json', '--subflow-reach', 'exact'];
    expect(JSON.parse((await sluice(...args)).stdout)).toMatchObject({ sinks: ['Q'], conservative: false });
  });

  it.each([
    ['hook', 'shop', 'W'],
    ['source', 'plant', 'a'],
    ['queue', 'parcels', 'P'],
    ['name before a queue of that name', 'orders', 'W'],
  ])('O17 finds a node by its %s', async (_, wanted, id) => {
    const { stdout } = await sluice('reach', file('flows.json', flows), wanted, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ source: id });
  });

  it('says when nothing can make a source refuse', async () => {
    const { stdout } = await sluice('reach', file('flows.json', flows), 'a');
    expect(stdout).toBe('ingest-api "twin" (a) reaches 0 sinks\n  nothing can make it refuse a record\n');
  });

  it.each([
    ['a file that is not there', () => join(folder, 'gone.json'), 'W', /cannot read .*gone\.json \(ENOENT\)/],
    ['a folder', () => folder, 'W', /cannot read .* \(EISDIR\)/],
    ['a file that is no JSON', () => file('x.json', '[{'), 'W', /x\.json is not valid JSON/],
    ['JSON that is no flow', () => file('y.json', { name: 'x' }), 'W', /y\.json holds no list of nodes/],
    ['null', () => file('z.json', 'null'), 'W', /z\.json holds no list of nodes/],
    ['a list of other things', () => file('l.json', [1, 2]), 'W', /l\.json has entries without an id/],
    [
      'an unknown source',
      () => file('flows.json', flows),
      'nope',
      /no node with the id, name, hook, source or queue "nope"/,
    ],
    ['a disabled source', () => file('flows.json', flows), 'off', /"off" doesn't run/],
    ['an empty flow', () => file('empty.json', []), 'W', /no node with the id, name, .* "W"/],
    ['a name that two nodes have', () => file('flows.json', flows), 'twin', /2 nodes go by "twin".*: y, a/],
    ['a source with two instances', () => file('flows.json', flows), 'I', /2 nodes go by "I".*: x-I, y-I/],
  ])('refuses %s in one line, with status 2', async (_, path, source, problem) => {
    const { status, stdout, stderr } = await sluice('reach', path(), source);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(problem);
    expect(stderr).toMatch(/^sluice: .*; .* \[ERR_SLUICE_\w+\]\n$/);
  });

  it('ends quietly when its reader has seen enough', async () => {
    const sinks = Array.from({ length: 20_000 }, (_, i) => ({ id: `s${i}`, type: 'rest-sink', z: 'T' }));
    const source = { id: 'W', type: 'ingest-api', z: 'T', wires: [sinks.map(({ id }) => id)] };
    const path = file('wide.json', [source, ...sinks]);
    const child = spawn(process.execPath, [main, 'reach', path, 'W'], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    child.stdout.once('data', () => child.stdout.destroy());
    await new Promise((resolve) => child.once('close', resolve));
    expect(stderr).toBe('');
  });
});

describe('sluice', () => {
  it('tells its version', async () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(await sluice('--version')).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: '' });
  });

  it.each([[['--help']], [['help', 'reach']], [['reach', '--help']]])('prints help for %j', async (args) => {
    const { status, stdout } = await sluice(...args);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Usage: sluice/);
  });

  it.each([
    [[]],
    [['bogus']],
    [['reach']],
    [['reach', 'a', 'b', '--subflow-reach', 'x']],
    [['reach', 'a', 'b', 'c']],
  ])('takes %j for wrong usage, with status 2', async (args) => {
    const { status, stdout, stderr } = await sluice(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/Usage|--help/);
  });

  it('can be run as a program', () => {
    expect(readFileSync(main, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});
