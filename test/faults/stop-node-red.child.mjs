// Starts Node-RED as an application embeds it, works through some records, and stops it: node has to end by itself then.
import { createServer, request } from 'node:http';
import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import express from 'express';

const [userDir, withFlow] = process.argv.slice(2);
const RED = createRequire(import.meta.url)('node-red');
const app = express();
const server = createServer(app);
RED.init(server, {
  userDir,
  httpAdminRoot: '/',
  httpNodeRoot: '/',
  flowFile: 'flows.json',
  credentialSecret: 'test',
  logging: { console: { level: 'warn', metrics: false, audit: false } },
  functionExternalModules: false,
  telemetry: { enabled: false, updateNotification: false },
});
app.use('/', RED.httpAdmin);
app.use('/', RED.httpNode);
const started = new Promise((resolve) => RED.events.once('flows:started', resolve));
await RED.start();
await started;
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();

function send(hook, n) {
  const body = JSON.stringify({ n });
  const signature = `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`;
  const headers = {
    'x-hub-signature-256': signature,
    'x-github-delivery': `${hook}-${n}`,
    'content-type': 'application/json',
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { port, host: '127.0.0.1', path: `/api/hooks/${hook}`, method: 'POST', headers, agent: false },
      (res) => {
        res.resume();
        res.on('end', () => resolve(res.statusCode));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

if (withFlow === 'flow') {
  let accepted = 0;
  while (accepted < 20) {
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => send(n % 2 ? 'done' : 'receipt', accepted + n)),
    );
    accepted += answers.filter((status) => status === 200).length;
  }
  process.stdout.write(`accepted ${accepted}\n`);
}
await RED.stop();
server.closeAllConnections();
await new Promise((resolve) => server.close(resolve));
process.stdout.write(`stopped ${process.getActiveResourcesInfo().join(',')}\n`);
