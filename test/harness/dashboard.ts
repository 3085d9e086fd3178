import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { waitFor } from './wait';

const NAME = '@flowfuse/node-red-dashboard';
const engine = resolve(import.meta.dirname, '../engines/node_modules', NAME);

/** Whether FlowFuse Dashboard is installed in test/engines. In CI its absence is an error: throws. */
export function hasDashboard(): boolean {
  if (existsSync(engine)) return true;
  const advice = `${NAME} is missing: npm test installs test/engines`;
  if (process.env['CI'] === 'true') throw new Error(advice);
  console.warn(`\n*** THE DASHBOARD EXAMPLE IS NOT TESTED: ${advice} ***\n`);
  return false;
}

/** Puts it into a user directory, as the palette manager would. */
export async function installDashboard(userDir: string): Promise<void> {
  await mkdir(join(userDir, 'node_modules/@flowfuse'), { recursive: true });
  await symlink(engine, join(userDir, 'node_modules', NAME), 'dir');
}

export interface DashboardClient {
  /** What the server has sent to this widget so far, oldest first. */
  inputs(widgetId: string): readonly unknown[];
  close(): Promise<void>;
}

const PACKET_END = '\u001e';
const PING = '2';
const PONG = '3';
const CONNECT = '40';
const EVENT = '42';

/** Listens as the page in a browser does, by Socket.IO's long polling. */
export async function openDashboard(url: string): Promise<DashboardClient> {
  const address = `${url}/dashboard/socket.io/?EIO=4&transport=polling`;
  const opened = await (await fetch(address)).text();
  const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
  const session = `${address}&sid=${sid}`;
  const say = (packet: string) => fetch(session, { method: 'POST', body: packet });
  const events: { readonly name: string; readonly message: unknown }[] = [];
  let isConnected = false;
  const closing = new AbortController();

  const take = async (packet: string) => {
    if (packet === PING) await say(PONG);
    else if (packet.startsWith(CONNECT)) isConnected = true;
    else if (packet.startsWith(EVENT)) {
      const [name, message] = JSON.parse(packet.slice(EVENT.length)) as [string, unknown];
      events.push({ name, message });
    }
  };
  const listen = async () => {
    while (!closing.signal.aborted) {
      const packets = await (await fetch(session, { signal: closing.signal })).text();
      for (const packet of packets.split(PACKET_END)) await take(packet);
    }
  };
  await say(CONNECT);
  const listening = listen().catch((error: unknown) => {
    if (!closing.signal.aborted) throw error;
  });
  await waitFor('the dashboard to connect', () => isConnected);
  return {
    inputs: (widgetId) =>
      events.filter(({ name }) => name === `msg-input:${widgetId}`).map(({ message }) => message),
    close() {
      closing.abort();
      return listening;
    },
  };
}
