import { readConfig } from '#lib/config/read-config';
import { faultText } from '#lib/node-red/fault-text';
import { runtimeOf } from '#lib/node-red/runtime';
import { statusLine } from '#lib/node-red/status';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { fields, type DeliveryStatusConfig } from './delivery-status.config';
import { fingerprint, lookOf } from './delivery-status.status';

function start(RED: NodeRED, node: RuntimeNode, config: DeliveryStatusConfig): void {
  const runtime = runtimeOf(RED);
  const line = statusLine(node);
  let emitted = '';

  const look = () => {
    const document = runtime.status();
    const { mood, key, values } = lookOf(document);
    line.show(mood, RED._(`delivery-status.status.${key}`, values));
    // Between a deploy and its flows' start there is nobody to send to.
    if (!document.ready) return;
    const now = fingerprint(document);
    if (config.emit === 'change' && now === emitted) return;
    emitted = now;
    // Of its own: the flow may change what it gets.
    node.send({ topic: config.name || 'delivery-status', payload: structuredClone(document) });
  };

  const timer = setInterval(look, config.intervalSecs * 1000).unref();
  // A dashboard that was just deployed shouldn't stay empty for an interval.
  const first = () => void setImmediate(look);
  RED.events.once('flows:started', first);
  node.on('close', (_removed, done) => {
    clearInterval(timer);
    RED.events.off('flows:started', first);
    line.close();
    done();
  });
}

export = function register(RED: NodeRED): void {
  function DeliveryStatusNode(this: RuntimeNode, saved: object): void {
    RED.nodes.createNode(this, saved);
    try {
      start(RED, this, readConfig(fields, saved));
    } catch (error) {
      this.error(error);
      this.status({ fill: 'red', shape: 'ring', text: faultText((key) => RED._(key), error) });
    }
  }
  RED.nodes.registerType('delivery-status', DeliveryStatusNode);
};
