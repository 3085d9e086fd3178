import { readConfig } from '#lib/config/read-config';
import type { Rule } from '#lib/dead-letter/rules';
import { DeliveryError } from '#lib/errors/errors';
import { faultText } from '#lib/node-red/fault-text';
import { onInput } from '#lib/node-red/input';
import { runtimeOf } from '#lib/node-red/runtime';
import { statusLine } from '#lib/node-red/status';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { fields, type DlqConfig } from './dlq.config';
import { lookOf } from './dlq.status';

const MB = 1024 * 1024;
/** Failures may come by the thousand a second: the status follows them, and isn't made for each. */
const SHOW_INTERVAL_MS = 1000;
/** For what is wired behind the output; nothing waits for it but the count of failures there. */
const SEND_TIMEOUT_MS = 60_000;

function start(RED: NodeRED, node: RuntimeNode, config: DlqConfig): void {
  const { deadLetters, registry, lineage } = runtimeOf(RED);
  const { room } = deadLetters;
  const line = statusLine(node);
  const translate = (key: string, values?: Readonly<Record<string, unknown>>) => RED._(key, values);
  // Looked up each time: a deploy may have renamed the tab, or forgotten and remade its rule.
  const rule = (): Rule => room.rules.of(deadLetters.ruleOf(node));

  const show = () => {
    const { id, total, sinkFailures } = rule();
    const halt = room.haltOf(id);
    const look = lookOf({ onError: config.onError, halt, fault: room.letters.fault, total, sinkFailures });
    const text =
      'fault' in look ? faultText(translate, look.fault) : translate(`dlq.status.${look.key}`, look.values);
    line.show(look.mood, text);
  };

  const release = room.rules.govern(deadLetters.ruleOf(node), {
    id: node.id,
    policy: config,
    quota: { maxRows: config.maxRows, maxBytes: config.maxMb * MB },
    emit(entry) {
      if (!registry.hasLiveOutput(node.id)) return;
      const { label } = rule();
      const stamp = {
        id: `dead-letter-${entry.id}`,
        source: config.name || 'dlq',
        receivedAt: entry.timestamp,
        attempt: 1,
      };
      void lineage
        .send(
          node,
          { topic: label, payload: entry },
          { stamp, origin: `${node.id} ${entry.id}`, timeoutMs: SEND_TIMEOUT_MS, deadLetter: true },
        )
        .then(({ kind }) => {
          if (kind === 'failed') room.sinkFailed(rule());
        });
    },
  });

  onInput(node, async (msg) => {
    const trace = lineage.traceOf(msg);
    const source = (msg['error'] as { source?: { id?: unknown } } | undefined)?.source;
    // Its own failure, by a catch node: kept once more, it would go round for ever.
    if (source?.id === node.id) return;
    if (trace?.deadLetter) {
      throw new DeliveryError(
        'ERR_SLUICE_DLQ_LOOP',
        'a dead letter came back to a dlq node: wire its output to where someone looks',
        { failure: 'permanent' },
      );
    }
    const goOn = trace?.pauseTimeout();
    try {
      await deadLetters.caught(node, msg);
    } finally {
      goOn?.();
    }
  });

  const showing = setInterval(show, SHOW_INTERVAL_MS).unref();
  node.on('close', (_removed, done) => {
    clearInterval(showing);
    release();
    line.close();
    done();
  });
  show();
}

export = function register(RED: NodeRED): void {
  function DlqNode(this: RuntimeNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    try {
      start(RED, this, readConfig(fields, saved));
    } catch (error) {
      this.error(error);
      this.status({ fill: 'red', shape: 'ring', text: faultText((key) => RED._(key), error) });
    }
  }
  RED.nodes.registerType('dlq', DlqNode);
};
