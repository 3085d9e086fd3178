import { readConfig } from '#lib/config/read-config';
import { createMetrics, type Metrics } from '#lib/metrics/metrics';
import { RestClient, type ClientOptions } from '#nodes/rest-sink/rest-sink.client';
import { fields, successTest, type RestSinkConfig } from '#nodes/rest-sink/rest-sink.config';
import { encodePayload, requestTemplate } from '#nodes/rest-sink/rest-sink.request';
import { RestSink, type RestRecord } from '#nodes/rest-sink/rest-sink.sink';
import { alertsFor } from '../harness/alerts';

const open: RestSink[] = [];

export interface SinkUnderTest {
  readonly sink: RestSink;
  readonly metrics: Metrics;
}

/** A sink with a node's saved properties, as the runtime half puts it together; no proxy of the environment applies. */
export function makeSink(
  saved: Partial<RestSinkConfig> & { url: string },
  client: Partial<Pick<ClientOptions, 'tls' | 'proxy'>> = {},
): SinkUnderTest {
  const config = readConfig(fields, saved);
  const request = requestTemplate(config, {});
  const metrics = createMetrics();
  const sink = new RestSink(
    {
      id: 'sink-1',
      name: 'rest',
      z: 'tab',
      policy: config.onFull,
      maxBacklog: config.maxBacklog,
      concurrency: config.concurrency,
      batch: config.batch,
      answers: {
        method: 'POST',
        pathname: '/',
        origin: request.origin,
        isSuccess: successTest(config.successCodes),
        clientErrors: config.clientErrors,
      },
    },
    new RestClient({
      request,
      timeoutMs: config.timeoutMs,
      maxResponseBytes: config.maxResponseKb * 1024,
      connections: config.concurrency,
      tls: {},
      proxy: { httpProxy: '', httpsProxy: '', noProxy: '*' },
      ...client,
    }),
    metrics,
    alertsFor(metrics).centre.place({ id: 'sink-1', name: 'rest', type: 'rest-sink' }),
  );
  open.push(sink);
  return { sink, metrics };
}

export async function closeSinks(): Promise<void> {
  await Promise.all(open.splice(0).map((sink) => sink.close(0)));
}

export function record(payload: unknown, deliveryId = `id-${JSON.stringify(payload)}`): RestRecord {
  return { ...encodePayload(payload), deliveryId, source: 'orders' };
}

/** The failure of each delivery that failed, its position kept. */
export async function failures(deliveries: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(deliveries);
  return settled.map((result) => (result.status === 'rejected' ? (result.reason as unknown) : undefined));
}
