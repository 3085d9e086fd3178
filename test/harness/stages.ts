import type { Message, NodeStatus } from '#lib/node-red/types';
import { probe, probeNodes, tab, type ProbeSink } from './probe';
import { startNodeRed, type FlowNode, type RunningNodeRed } from './node-red';
import { waitFor } from './wait';

export interface DeployedStage {
  /** Sends a message in and gives the `count` messages that came out for it. */
  pass(msg: Message, count?: number): Promise<Message[]>;
  /** Sends a message in and gives the error that it ended with. */
  fail(msg: Message): Promise<Error>;
  /** Sends a message in and waits until it ended without an error and without an output. */
  filter(msg: Message): Promise<void>;
  /** Sends a message in and gives the error that it ended with, if there was one. */
  end(msg: Message): Promise<Error | undefined>;
  /** Messages that came out so far. */
  received(): number;
  /** Their payloads. */
  payloads(): unknown[];
  /** Waits for a status of this colour and gives its text. */
  status(fill: NodeStatus['fill']): Promise<string | undefined>;
}

export interface Stages {
  readonly nodeRed: RunningNodeRed;
  /** Deploys the stage alone on its tab `tab`, before a probe; `others` come beside it. */
  deploy(type: string, saved?: Record<string, unknown>, others?: readonly FlowNode[]): Promise<DeployedStage>;
  stop(): Promise<void>;
}

/** Node-RED for tests of record stages: what goes in, comes out, and fails. */
export async function startStages(): Promise<Stages> {
  const nodeRed = await startNodeRed({ nodesDir: [probeNodes] });
  const { RED } = nodeRed;
  let status: NodeStatus = {};
  const ended = new Map<string, Error | undefined>();
  RED.events.on('node-status', (event: { id: string; status: NodeStatus }) => {
    if (event.id === 'stage') status = event.status;
  });
  RED.hooks.add('onComplete.stages', ({ msg, node, error }) => {
    if (node.id === 'stage') ended.set(String(msg._msgid), error as Error | undefined);
  });
  let count = 0;

  return {
    nodeRed,
    async deploy(type, saved = {}, others = []) {
      status = {};
      await nodeRed.deploy([
        tab(),
        { id: 'stage', type, z: 'tab', name: '', wires: [['out']], ...saved },
        probe('out'),
        ...others,
      ]);
      const stage = nodeRed.node('stage');
      const { received } = nodeRed.node<ProbeSink>('out');
      const end = async (msg: Message): Promise<Error | undefined> => {
        count += 1;
        const id = `record-${count}`;
        stage.receive({ ...msg, _msgid: id });
        await waitFor(`the end of ${id}`, () => ended.has(id), 30_000);
        return ended.get(id);
      };
      return {
        async pass(msg, expected = 1) {
          const before = received.length;
          const error = await end(msg);
          if (error) throw error;
          await waitFor('what comes out', () => received.length === before + expected);
          return received.slice(before);
        },
        async fail(msg) {
          const error = await end(msg);
          if (!error) throw new Error('the record did not fail');
          return error;
        },
        async filter(msg) {
          const before = received.length;
          const error = await end(msg);
          if (error) throw error;
          await new Promise((resolve) => setImmediate(resolve));
          if (received.length !== before) throw new Error('the record came out');
        },
        end,
        received: () => received.length,
        payloads: () => received.map(({ payload }) => payload),
        async status(fill) {
          await waitFor(`a ${fill} status`, () => status.fill === fill, 30_000);
          return status.text;
        },
      };
    },
    stop: () => nodeRed.stop(),
  };
}
