import { request } from 'node:http';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; throws when it is none. */
  json(): Record<string, unknown>;
}

interface PostOptions {
  readonly method?: string;
  /** Name, value, name, value…: a header may occur twice and keeps its spelling. */
  readonly rawHeaders?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends the body in these pieces with chunked encoding. */
  readonly chunks?: readonly Uint8Array[];
}

/** One request with exactly these bytes; nothing is added to them or followed. */
export function post(url: string, body: Uint8Array | string, options: PostOptions = {}): Promise<HttpAnswer> {
  const { method = 'POST', chunks } = options;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const headers = [
    ...(options.rawHeaders ?? []),
    ...Object.entries(options.headers ?? {}).flat(),
    ...(chunks ? ['transfer-encoding', 'chunked'] : ['content-length', String(bytes.byteLength)]),
  ];
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent: false }, (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.on('error', reject);
      res.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const json = () => JSON.parse(text) as Record<string, unknown>;
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json });
      });
    });
    outgoing.on('error', reject);
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? '';
      const earlier = outgoing.getHeader(name);
      const value = headers[at + 1] ?? '';
      outgoing.setHeader(name, earlier === undefined ? value : [earlier, value].flat().map(String));
    }
    for (const chunk of chunks ?? [bytes]) outgoing.write(chunk);
    outgoing.end();
  });
}
