// Packaged subflows, whose inside the flow JSON doesn't show: `packaged-slow` passes on after a while and throws on payload
// `fail`; `packaged-late` has, in a subflow of its own, a function that sends from a callback.
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
  flow,
  ...more,
});
const meta = (type) => ({ module: 'packaged-subflow', type, version: '1.0.0' });

module.exports = function register(RED) {
  const check = func('ps-check', 'ps', 'if (msg.payload === "fail") throw new Error("inside"); return msg', [
    'ps-delay',
  ]);
  const delay = { pauseType: 'delay', timeout: '100', timeoutUnits: 'milliseconds', outputs: 1 };
  const wait = { id: 'ps-delay', type: 'delay', z: 'ps', ...at, wires: [[]], ...delay };
  RED.nodes.registerSubflow(
    subflow('ps', 'ps-check', 'ps-delay', [check, wait], { meta: meta('packaged-slow') }),
  );

  const inner = subflow('pi', 'pi-late', 'pi-late', undefined);
  delete inner.flow;
  const late = func('pi-late', 'pi', 'setTimeout(() => node.send({ payload: 2 }), 50)', []);
  const instance = { id: 'pl-inner', type: 'subflow:pi', z: 'pl', ...at, wires: [[]], env: [] };
  RED.nodes.registerSubflow(
    subflow('pl', 'pl-inner', 'pl-inner', [inner, late, instance], { meta: meta('packaged-late') }),
  );
};
