// Node types for the lineage's tests. They find the lineage under test, and the log of what sinks saw, on `globalThis`.
const rig = () => globalThis[Symbol.for('sluice.test.lineage')];

module.exports = function register(RED) {
  const type = (name, build) => {
    RED.nodes.registerType(name, function TestNode(config) {
      RED.nodes.createNode(this, config);
      build(this, config);
    });
  };

  type('t-source', () => {});

  // A sink that finishes after `ms`, well or with an error; `hold` keeps it open until the test calls `finish`. It takes
  // custody of a message that came by a catch node if `custody` is the error's class, or `any`.
  type('t-sink', (node, config) => {
    node.on('input', (msg, send, done) => {
      const trace = rig().lineage.traceOf(msg);
      trace?.takeHold(node.id);
      if (config.status) node.status({ text: config.status });
      const finish = () => {
        const { fail } = config;
        rig().finished.push({ node: node.id, msg });
        if (config.custody && (config.custody === 'any' || trace?.caught === config.custody))
          trace?.custody();
        if (config.receipt) send(msg);
        done(fail ? rig().errors[fail]() : undefined);
      };
      rig().arrived.push({ node: node.id, msg, trace, finish });
      if (!config.hold) setTimeout(finish, config.ms ?? 20);
    });
  });
  // Completes two inputs at once, in the turn in which it sends a record of its own.
  type('t-queue', (node) => {
    const waiting = [];
    node.on('input', (msg, send, done) => {
      if (waiting.push(done) < 2) return;
      setImmediate(() => {
        const stamp = { id: 'queued', source: node.id, receivedAt: 1, attempt: 1 };
        void rig().lineage.send(node, { payload: 'both' }, { stamp, origin: 'queued', timeoutMs: 1000 });
        for (const finish of waiting) finish();
      });
    });
  });
  type('t-count', (node) => {
    node.on('input', (msg, send, done) => {
      rig().counted++;
      done();
    });
  });
  type('t-done-twice', (node) => {
    node.on('input', (msg, send, done) => {
      send(msg);
      done();
      done();
      setTimeout(done, 20);
    });
  });
  type('t-done-first', (node) => {
    node.on('input', (msg, send, done) => {
      done();
      send({ payload: 'after done' });
    });
  });
  type('t-freeze', (node) => {
    node.on('input', (msg, send, done) => {
      send(Object.freeze({ ...msg }));
      done();
    });
  });
  type('t-throw', (node) => {
    node.on('input', (msg, send, done) => {
      if (msg !== done) throw new Error('boom');
    });
  });
  type('t-reject', (node) => {
    node.on('input', async (msg, send, done) => {
      await null;
      throw new Error(`async boom ${typeof done}`);
    });
  });
  type('t-never', (node) => {
    node.on('input', (msg, send, done) => {
      if (done) send(msg);
    });
  });
  type('t-error-without-msg', (node) => {
    node.on('input', (msg, send, done) => {
      setTimeout(() => {
        node.error('no message given');
        done();
      }, 20);
    });
  });
  type('t-new-message', (node) => {
    node.on('input', (msg, send, done) => {
      setTimeout(() => {
        send({ payload: 'brand new' });
        done();
      }, 300);
    });
  });
  type('t-other-sends', (node, config) => {
    node.on('input', (msg, send, done) => {
      RED.nodes.getNode(config.other).send(msg);
      done();
    });
  });
  type('t-legacy-sync', (node) => {
    node.on('input', (msg) => node.send(msg));
  });
  type('t-legacy-async', (node) => {
    node.on('input', (msg) => {
      if (msg) setTimeout(() => node.send({ payload: 1 }), 300);
    });
  });
  type('t-legacy-error', (node) => {
    node.on('input', (msg) => {
      setTimeout(() => node.error('legacy async error', msg), 300);
    });
  });
};
