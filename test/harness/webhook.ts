import { sign } from '#lib/webhook/sign';
import { post, type HttpAnswer } from './http';
import type { FlowNode, RunningNodeRed } from './node-red';

export const SECRET = 'whsec_c2x1aWNlLXRlc3Qtc2VjcmV0LW9mLTMyLWJ5dGVzIQ==';

/** A `signed-webhook` node of the standard scheme. */
export function webhook(id: string, properties: Record<string, unknown> = {}): FlowNode {
  const {
    hook = id,
    z = 'tab',
    wires = [[]],
  } = properties as { hook?: string; z?: string; wires?: string[][] };
  const credentials = { secret: SECRET };
  return { id, type: 'signed-webhook', scheme: 'standard', credentials, ...properties, hook, z, wires };
}

interface HookRequest {
  /** The sender's id; without one, each call is a record of its own. */
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly secret?: string;
}

let calls = 0;
const nextId = () => `msg_${process.pid}_${String((calls += 1))}`;

/** Sends a body to a hook as its sender would: signed over the exact bytes. */
export function callHook(
  { url }: Pick<RunningNodeRed, 'url'>,
  hook: string,
  body: unknown,
  { id = nextId(), headers = {}, secret = SECRET }: HookRequest = {},
): Promise<HttpAnswer> {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const nowSecs = Math.floor(Date.now() / 1000);
  const signature = sign({ scheme: 'standard', secret }, { body: bytes, id, nowSecs });
  return post(`${url}/api/hooks/${hook}`, bytes, {
    headers: { 'content-type': 'application/json', ...signature, ...headers },
  });
}
