// The queue's worker, with a switch to end it from a test.
const { BroadcastChannel } = require('node:worker_threads');
const channel = new BroadcastChannel('queue-worker-switch');
channel.onmessage = ({ data }) => {
  if (data === 'throw') throw new Error('thrown on purpose');
  process.exit(7);
};
channel.unref();
require('#lib/queue/sqlite-worker');
