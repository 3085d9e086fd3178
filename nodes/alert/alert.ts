import { ulid } from 'ulid';
import type { Alert, PlaceName } from '#lib/alert/alert-machine';
import type { Source } from '#lib/delivery/contract';
import type { Verdict } from '#lib/delivery/verdict';
import { readConfig } from '#lib/config/read-config';
import { listOf } from '#lib/config/list';
import { faultText } from '#lib/node-red/fault-text';
import { runtimeOf, type SluiceRuntime } from '#lib/node-red/runtime';
import { statusLine } from '#lib/node-red/status';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { fields, kindsOf, problemsOf, type AlertConfig } from './alert.config';
import { messageOf } from './alert.message';
import { AlertOutbox, type Waiting } from './alert.outbox';
import { lookOf } from './alert.status';

const MINUTE_MS = 60_000;
const SHOW_INTERVAL_MS = 2000;
/** A mail server may take its time. */
const DELIVERY_TIMEOUT_MS = 60_000;

/** What nodes that a deploy closed had still to deliver, by their ids. */
const leftovers = new WeakMap<SluiceRuntime, Map<string, readonly Waiting[]>>();

function leftoversOf(runtime: SluiceRuntime): Map<string, readonly Waiting[]> {
  const known = leftovers.get(runtime) ?? new Map<string, readonly Waiting[]>();
  leftovers.set(runtime, known);
  return known;
}

function start(RED: NodeRED, node: RuntimeNode, config: AlertConfig): void {
  const runtime = runtimeOf(RED);
  const { registry, metrics, lineage, alerts } = runtime;
  const name = config.name || 'alert';
  const scope = new Set(listOf(config.scope));
  const kinds = kindsOf(config);
  const left = leftoversOf(runtime);
  const line = statusLine(node);
  const wants = (kind: Alert['kind'], place: PlaceName) =>
    kinds.has(kind) && (scope.size === 0 || scope.has(place.id) || scope.has(place.z ?? ''));
  let failed: Verdict | undefined;

  const show = () => {
    const isWired = registry.hasLiveOutput(node.id) || !registry.ready;
    const look = lookOf({ isWired, failed, waiting: outbox.size, open: alerts.openFor(node.id) });
    line.show(look.mood, RED._(`alert.status.${look.key}`, look.values));
  };

  const deliver = (alert: Alert, attempt: number) =>
    lineage.send(node, messageOf(alert), {
      stamp: { id: ulid(), source: name, receivedAt: alert.at, attempt },
      origin: `${node.id} ${alert.kind} ${alert.what} ${alert.place.id} ${alert.at}`,
      timeoutMs: DELIVERY_TIMEOUT_MS,
      // Nodes of chat services often don't report completion; trying them again would only repeat the message.
      treatLegacyAsDone: true,
    });

  const outbox = new AlertOutbox(
    {
      deliver,
      onSettled(verdict) {
        metrics.deliveryAttempts(name, verdict.kind === 'failed' ? verdict.failure : verdict.kind);
        failed = verdict.kind === 'done' ? undefined : verdict;
        show();
      },
      onDropped: () => node.warn('more than 100 alerts wait for delivery: the oldest was dropped'),
      random: Math.random,
    },
    left.get(node.id)?.filter(({ alert }) => wants(alert.kind, alert.place)),
  );
  left.delete(node.id);

  const source: Source = {
    id: node.id,
    name,
    type: node.type,
    z: node.z,
    entry: false,
    status: () => ({ open: alerts.openFor(node.id), waiting: outbox.size, delivered: failed === undefined }),
    pause: () => outbox.pause(),
    resume() {
      if (registry.hasLiveOutput(node.id)) outbox.resume();
      else outbox.clear();
      show();
    },
  };
  const removals = [
    registry.addSource(source),
    alerts.listen(
      node.id,
      {
        highPct: config.highPct,
        repeatMs: config.repeatMinutes * MINUTE_MS,
        silenceMs: config.silenceMinutes * MINUTE_MS,
        wants,
      },
      (alert) => {
        // Wired to nothing, there is nobody to tell: what happened is in the log.
        if (!registry.ready || registry.hasLiveOutput(node.id)) outbox.add(alert);
        show();
      },
    ),
  ];
  const showing = setInterval(show, SHOW_INTERVAL_MS).unref();
  show();
  node.on('close', (removed, done) => {
    for (const remove of removals) remove();
    clearInterval(showing);
    line.close();
    const waiting = outbox.close();
    if (!removed && waiting.length > 0) left.set(node.id, waiting);
    done();
  });
}

export = function register(RED: NodeRED): void {
  function AlertNode(this: RuntimeNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    try {
      start(RED, this, readConfig(fields, saved, problemsOf));
    } catch (error) {
      this.error(error);
      this.status({ fill: 'red', shape: 'ring', text: faultText((key) => RED._(key), error) });
    }
  }
  RED.nodes.registerType('alert', AlertNode);
};
