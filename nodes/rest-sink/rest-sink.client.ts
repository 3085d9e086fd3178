import { EnvHttpProxyAgent, type Dispatcher } from 'undici';
import { DeliveryError } from '#lib/errors/errors';
import type { RequestTemplate } from './rest-sink.request';

export interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** UTF-8 text, at most `maxResponseBytes` of it. */
  readonly body: string;
}

/** The proxy a node was given; empty strings switch the environment's off. */
export interface ProxyOptions {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

export interface ClientOptions {
  readonly request: RequestTemplate;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly connections: number;
  /** Options of `tls.connect`: ca, cert, key, passphrase, servername, rejectUnauthorized. */
  readonly tls: Readonly<Record<string, unknown>>;
  /** Without it HTTP_PROXY, HTTPS_PROXY and NO_PROXY decide, as for Node-RED's own http request node. */
  readonly proxy?: ProxyOptions;
}

async function readText(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop early destroys the stream and its connection, so an endless answer costs no more than this.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const room = maxBytes - size;
    chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    size += chunk.length;
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Sends requests to one destination, over connections that it keeps. Doesn't retry, doesn't follow redirects. */
export class RestClient {
  readonly #options: ClientOptions;
  readonly #agent: EnvHttpProxyAgent;
  readonly #inFlight = new Set<AbortController>();

  constructor(options: ClientOptions) {
    this.#options = options;
    const tls = { ...options.tls, timeout: options.timeoutMs };
    this.#agent = new EnvHttpProxyAgent({
      connections: options.connections,
      connect: tls,
      requestTls: tls,
      proxyTunnel: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      ...options.proxy,
    });
  }

  /** Resolves with any complete answer, whatever its status. Rejects with what went wrong on the way. */
  async send(body: Uint8Array, contentType: string, idempotencyKey: string): Promise<Answer> {
    const { request, timeoutMs, maxResponseBytes } = this.#options;
    const controller = new AbortController();
    this.#inFlight.add(controller);
    const timer = setTimeout(() => {
      const text = `${request.origin} did not answer within ${timeoutMs} ms`;
      controller.abort(new DeliveryError('ERR_SLUICE_REST_TIMEOUT', text, { failure: 'transient' }));
    }, timeoutMs);
    try {
      const {
        statusCode,
        headers,
        body: answer,
      } = await this.#agent.request({
        origin: request.origin,
        path: request.path,
        method: request.method,
        headers: { 'content-type': contentType, ...request.headers, 'idempotency-key': idempotencyKey },
        body,
        signal: controller.signal,
      });
      return { statusCode, headers, body: await readText(answer, maxResponseBytes) };
    } catch (error) {
      throw controller.signal.aborted ? controller.signal.reason : error;
    } finally {
      clearTimeout(timer);
      this.#inFlight.delete(controller);
    }
  }

  /** Ends requests under way with `reason` and closes all connections. */
  async destroy(reason: Error): Promise<void> {
    for (const controller of this.#inFlight) controller.abort(reason);
    await this.#agent.destroy();
  }
}
