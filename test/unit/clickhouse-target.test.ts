import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clickhouseSink } from '../harness/clickhouse-sink';
import { startSilentServer, type SilentServer } from '../harness/silent-server';
import { waitFor } from '../harness/wait';

describe('a ClickHouse sink whose server never answers', () => {
  let server: SilentServer;
  beforeEach(async () => (server = await startSilentServer()));
  afterEach(() => server.close());

  it('says so after insertTimeoutMs, and keeps the record', async () => {
    const made = clickhouseSink(server, 1, { insertTimeoutMs: 50 });
    const deliveries = made.deliver([{ id: 1 }]);
    await waitFor('the failure', () => made.sink.fault !== undefined);
    expect(made.sink.fault).toMatchObject({
      code: 'ERR_SLUICE_CLICKHOUSE_UNREACHABLE',
      failure: 'transient',
      message: expect.stringContaining('did not answer within 50 ms') as string,
    });
    expect(made.sink.status()).toMatchObject({ backlog: 1, failed: 0 });
    await made.close();
    expect(await Promise.all(deliveries)).toMatchObject([{ code: 'ERR_SLUICE_DELIVERY_ABORTED' }]);
  });

  it('ends what waits for it at once when it is closed', async () => {
    const made = clickhouseSink(server, 1, { insertTimeoutMs: 60_000 });
    const deliveries = made.deliver([{ id: 1 }]);
    await waitFor('the connection', () => server.connections > 0);
    await made.close();
    expect(await Promise.all(deliveries)).toMatchObject([{ code: 'ERR_SLUICE_DELIVERY_ABORTED' }]);
  });
});
