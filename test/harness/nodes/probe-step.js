// A test node that fails as our nodes do: by `onInput`, with the stage and class that its payload or property asks for.
const { onInput } = require('#lib/node-red/input');
const { DeliveryError, StageError } = require('#lib/errors/errors');
module.exports = function (RED) {
  RED.nodes.registerType('probe-step', function (config) {
    RED.nodes.createNode(this, config);
    this.received = [];
    this.broken = config.broken ?? true;
    onInput(this, (msg, send) => {
      this.received.push(msg);
      const asked = this.broken ? (msg.payload?.fail ?? config.fail) : undefined;
      if (asked === 'permanent') {
        throw new DeliveryError('ERR_SLUICE_DELIVERY_FAILED', 'can never work', { failure: 'permanent' });
      }
      if (asked === 'transient' || asked === 'config') {
        throw new DeliveryError('ERR_SLUICE_DELIVERY_FAILED', 'not now', { failure: asked });
      }
      if (asked) {
        throw new StageError('ERR_SLUICE_DELIVERY_FAILED', `failed at ${asked}`, {
          stage: asked,
          tuple: msg.payload,
          raw: Buffer.from(JSON.stringify(msg.payload)),
        });
      }
      send(msg);
    });
  });
};
