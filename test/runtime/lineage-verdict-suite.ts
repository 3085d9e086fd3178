import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FlowNode } from '../harness/node-red';
import { waitFor } from '../harness/wait';
import { verdictCases, type Case } from './lineage-cases';
import { slowSubflow } from './lineage-flows';
import { startLineageRig, tab, type LineageRig } from './lineage-rig';

const cases = verdictCases();

function flowsOf({ nodes }: Case, index: number, stand: { url: string; folder: string }): FlowNode[] {
  const id = `case${index}`;
  const flow = JSON.stringify(tab(id, [['src', 't-source', 'a'], ...nodes]))
    .replaceAll('"@.', `"${id}.`)
    .replaceAll('"URL/', `"${stand.url}/`)
    .replaceAll('"FOLDER/', `"${stand.folder}/`);
  return JSON.parse(flow) as FlowNode[];
}

/** Declares the suite of all verdict cases, in a Node-RED with these settings. */
export function describeVerdicts(settings: Record<string, unknown>): void {
  let rig: LineageRig;
  let target: Server;
  let foreignRejections: NodeJS.UnhandledRejectionListener[];

  beforeAll(async () => {
    // One case is a handler that rejects: Node-RED's own process would end there, and the test runner would fail.
    foreignRejections = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', () => {});
    target = createServer((request, response) => {
      response.statusCode = request.url === '/500' ? 500 : 200;
      response.end('ok');
    }).listen(0, '127.0.0.1');
    await once(target, 'listening');
    const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    rig = await startLineageRig(settings);
    const stand = { url, folder: rig.nodeRed.userDir };
    await rig.nodeRed.deploy([
      ...slowSubflow,
      ...cases.flatMap((each, index) => flowsOf(each, index, stand)),
    ]);
  });
  afterAll(async () => {
    await rig.stop();
    target.close();
    process.removeAllListeners('unhandledRejection');
    for (const listener of foreignRejections) process.on('unhandledRejection', listener);
  });

  describe('O1 the verdict of a record through', () => {
    it.each(cases.map((each, index) => ({ ...each, index })))('$name is $verdicts', async (each) => {
      const source = `case${each.index}.src`;
      const msg = { payload: 'p', topic: 't', ...each.msg };
      const { timeoutMs = 4000, trusted = false } = each;
      const options = { timeoutMs, treatLegacyAsDone: trusted };
      const verdicts = await Promise.all(
        each.verdicts.map(() => rig.fire(source, structuredClone(msg), options)),
      );
      expect(verdicts.map(({ kind }) => kind)).toEqual(each.verdicts);
      if (each.delivered !== undefined) {
        expect(rig.finished.filter(({ node }) => node === `case${each.index}.sink`)).toHaveLength(
          each.delivered,
        );
      }
      const late = () => rig.late.filter(({ sourceId }) => sourceId === source);
      await waitFor('late signs of life', () => late().length >= (each.late ?? 0));
    });

    it('leaves nothing behind', async () => {
      await waitFor('quiet', () => rig.lineage.active === 0);
      expect(rig.faults).toEqual([]);
      expect(rig.late.map(({ sourceId }) => sourceId).sort()).toEqual(
        cases.flatMap(({ late = 0 }, index) => Array.from({ length: late }, () => `case${index}.src`)).sort(),
      );
    });
  });
}
