import { defineNode } from '../../lib/editor/define-node';
import { credentials, fields, problemsOf, type RestSinkConfig } from './rest-sink.config';

/** Host and path, short enough for the canvas. */
function shortAddress(url: string): string {
  const address = url.replace(/^https?:\/\//i, '').replace(/[?#].*$/, '');
  return address.length > 32 ? `${address.slice(0, 31)}…` : address;
}

function adviceFor({ url, auth, onFull }: RestSinkConfig): string[] {
  const isLocal = /^http:\/\/(?:localhost|127\.|\[::1\])/i.test(url);
  const advice: string[] = [];
  if (/^http:/i.test(url) && !isLocal && auth !== 'none') advice.push('plaintext');
  if (onFull === 'evict_oldest') advice.push('evict');
  return advice;
}

defineNode('rest-sink', {
  kind: 'sink',
  fields,
  problemsOf,
  credentials,
  requiredCredentials: ({ auth }) => (auth === 'bearer' ? ['token'] : auth === 'basic' ? ['user'] : []),
  exactCredentials: ['token'],
  configNodes: { tls: 'tls-config', proxy: 'http proxy' },
  inputs: 1,
  outputs: 1,
  label: ({ url }) => shortAddress(url),
  onOpen(form) {
    form.onChange(() => form.showOnly('data-advice', adviceFor(form.config())));
  },
});
