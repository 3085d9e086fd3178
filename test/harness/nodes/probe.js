// Test-only node types: `probe-sink` records what reaches it and ends it as it is told; `probe-stuck` never completes.
module.exports = function (RED) {
  RED.nodes.registerType('probe-sink', function (config) {
    RED.nodes.createNode(this, config);
    this.received = [];
    this.finish = (msg, send, done) => done();
    this.on('input', (msg, send, done) => {
      this.received.push(msg);
      this.finish(msg, send, done);
    });
  });
  RED.nodes.registerType('probe-stuck', function (config) {
    RED.nodes.createNode(this, config);
    this.stuck = [];
    this.on('input', (msg, send, done) => this.stuck.push(done));
  });
};
