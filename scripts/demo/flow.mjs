// The demo's flow. The quota is small, so that the queue fills while the destination is down and the webhook refuses.

export const HOOK = 'orders';

/**
 * @param {string} destination
 * @param {string} secret
 * @returns {import('../node-red/user-dir.mjs').FlowNode[]}
 */
export const demoFlow = (destination, secret) => [
  { id: 'tab', type: 'tab', label: 'Demo' },
  {
    id: 'webhook',
    type: 'signed-webhook',
    z: 'tab',
    hook: HOOK,
    scheme: 'standard',
    respond: 'on_done',
    credentials: { secret },
    wires: [['queue']],
  },
  {
    id: 'queue',
    type: 'push-queue',
    z: 'tab',
    queue: 'demo',
    maxQuotaMb: 0.5,
    onFull: 'block',
    retryInitialMs: 200,
    retryMaxMs: 1000,
    wires: [['sink'], []],
  },
  { id: 'sink', type: 'rest-sink', z: 'tab', url: destination, concurrency: 16, wires: [[]] },
];
