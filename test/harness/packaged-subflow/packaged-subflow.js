// Packaged subflows, whose inside the flow JSON doesn't show: `packaged-slow` and `packaged-long` pass on after a while and
// throw on payload `fail`; `packaged-late` has, in a subflow of its own, a function that sends from a callback.
const at = { x: 0, y: 0 };
const func = (id, z, body, to) => ({
  ...{ id, type: 'function', z, ...at, wires: [to], outputs: 1, timeout: 0, noerr: 0 },
  ...{ func: body, initialize: '', finalize: '', libs: [] },
});
const subflow = (id, entry, exit, flow, more = {}) => ({
  ...{
    id,
    type: 'subflow',
    name: id,
    info: '',
    category: '',
    env: [],
    color: '#fff',
    icon: 'font-awesome/fa-cube',
  },
  in: [{ ...at, wires: [{ id: entry }] }],
  out: [{ ...at, wires: [{ id: exit, port: 0 }] }],
  ...(flow && { flow }),
  ...more,
});
const meta = (type) => ({ module: 'packaged-subflow', type, version: '1.0.0' });

/** Checks, then waits `ms`. */
const waiting = (type, id, ms) => {
  const check = func(`${id}-check`, id, 'if (msg.payload === "fail") throw new Error("inside"); return msg', [
    `${id}-delay`,
  ]);
  const delay = { pauseType: 'delay', timeout: String(ms), timeoutUnits: 'milliseconds', outputs: 1 };
  const wait = { id: `${id}-delay`, type: 'delay', z: id, ...at, wires: [[]], ...delay };
  return subflow(id, check.id, wait.id, [check, wait], { meta: meta(type) });
};

module.exports = function register(RED) {
  RED.nodes.registerSubflow(waiting('packaged-slow', 'ps', 50));
  RED.nodes.registerSubflow(waiting('packaged-long', 'pg', 5000));

  const inner = subflow('pi', 'pi-late', 'pi-late');
  const late = func('pi-late', 'pi', 'setTimeout(() => node.send({ payload: 2 }), 50)', []);
  const instance = { id: 'pl-inner', type: 'subflow:pi', z: 'pl', ...at, wires: [[]], env: [] };
  RED.nodes.registerSubflow(
    subflow('pl', 'pl-inner', 'pl-inner', [inner, late, instance], { meta: meta('packaged-late') }),
  );
};
