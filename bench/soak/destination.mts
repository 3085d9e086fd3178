import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface LedgerDestination {
  readonly url: string;
  has(record: number): boolean;
  counts(): { readonly distinct: number; readonly repeats: number };
  close(): Promise<void>;
}

/** An HTTP destination that notes which records it got, and how often again. */
export async function startLedgerDestination(): Promise<LedgerDestination> {
  const seen = new Set<number>();
  let repeats = 0;
  const note = ({ n }: { readonly n: number }) => {
    if (seen.has(n)) repeats += 1;
    else seen.add(n);
  };
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as { n: number } | { n: number }[];
      if (Array.isArray(body)) body.forEach(note);
      else note(body);
      res.end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/records`,
    has: (record) => seen.has(record),
    counts: () => ({ distinct: seen.size, repeats }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
