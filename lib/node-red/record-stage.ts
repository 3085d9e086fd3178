import { readConfig } from '../config/read-config';
import type { Conflict, Fields } from '../config/fields';
import type { Stage } from '../errors/stages';
import { RecordError } from '../record/record-error';
import { faultText } from './fault-text';
import { onInput } from './input';
import { stageError } from './stage-error';
import { runtimeOf, type SluiceRuntime } from './runtime';
import { statusLine, type StatusLine } from './status';
import type { Message, NodeRED, RuntimeNode, Send } from './types';

/** What a stage makes of one message: the records that go on, none where it left the record out by design. */
export type StageOutput = readonly Message[];

/** A running stage. */
export interface StageWork {
  /** Throws or rejects with RecordError for a record that can never pass. */
  process(msg: Message): StageOutput | Promise<StageOutput>;
  close?(): void | Promise<void>;
}

export interface StageContext<Config> {
  readonly RED: NodeRED;
  readonly node: RuntimeNode;
  readonly config: Config;
  readonly runtime: SluiceRuntime;
  /** The node's name, else its type: for metrics. */
  readonly name: string;
  /** Shows that it works, or what keeps it from working; a failing record shows by itself. */
  readonly line: StatusLine;
}

interface StageDefinition<Config extends object> {
  readonly stage: Stage;
  readonly fields: Fields<Config>;
  readonly problemsOf?: (config: Config) => readonly Conflict<Config>[];
  /** Throws ConfigError for what can't work; the node is red then and refuses every record. */
  start(context: StageContext<Config>): StageWork;
}

function run<Config extends { readonly name: string }>(
  context: StageContext<Config>,
  { stage, start }: StageDefinition<Config>,
): void {
  const { RED, node, runtime, name, line } = context;
  const work = start(context);
  let isFailing = false;

  const goOn = (records: StageOutput, send: Send) => {
    if (isFailing) {
      isFailing = false;
      line.show('ok', 'sluice.stage.ready');
    }
    if (records.length === 0) runtime.metrics.recordsSuppressed(name);
    else send([[...records]]);
  };
  const fail = (reason: unknown, msg: Message): never => {
    const error = reason instanceof RecordError ? stageError(reason, stage, msg) : reason;
    isFailing = true;
    line.show(
      'down',
      faultText((key) => RED._(key), error),
    );
    throw error;
  };

  onInput(node, (msg, send) => {
    let output: StageOutput | Promise<StageOutput>;
    try {
      output = work.process(msg);
    } catch (reason) {
      return fail(reason, msg);
    }
    if (!(output instanceof Promise)) return goOn(output, send);
    return output.then(
      (records) => goOn(records, send),
      (reason: unknown) => fail(reason, msg),
    );
  });
  node.on('close', (_removed, done) => {
    line.close();
    void Promise.resolve(work.close?.()).finally(done);
  });
}

/**
 * Registers the type of a stage: records go in, go on or fail for good with its name. What its config can't work with
 * turns the node red at the deploy, and then every record fails, kept by its origin.
 */
export function registerStage<Config extends { readonly name: string }>(
  RED: NodeRED,
  type: string,
  definition: StageDefinition<Config>,
): void {
  function StageNode(this: RuntimeNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    try {
      const config = readConfig(definition.fields, saved, definition.problemsOf);
      const line = statusLine(this);
      const name = config.name || type;
      run({ RED, node: this, config, runtime: runtimeOf(RED), name, line }, definition);
    } catch (error) {
      this.error(error);
      this.status({ fill: 'red', shape: 'ring', text: faultText((key) => RED._(key), error) });
      onInput(this, () => Promise.reject(error instanceof Error ? error : new Error(String(error))));
    }
  }
  RED.nodes.registerType(type, StageNode);
}
