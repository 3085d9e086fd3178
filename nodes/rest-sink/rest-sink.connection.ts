import { ConfigError } from '#lib/errors/errors';
import type { RuntimeNode } from '#lib/node-red/types';
import type { ProxyOptions } from './rest-sink.client';

/** Node-RED's own `http proxy` node. */
interface HttpProxyNode extends RuntimeNode {
  readonly url: string;
  readonly noproxy?: readonly string[];
}

const isHttpProxy = (node: RuntimeNode): node is HttpProxyNode => node.type === 'http proxy' && 'url' in node;

/** The chosen `http proxy` node's settings. Throws ConfigError for one that can't be used. */
export function proxyOptions(
  id: string,
  getNode: (id: string) => RuntimeNode | null,
): { readonly proxy?: ProxyOptions } {
  if (id === '') return {};
  const node = getNode(id);
  if (!node || !isHttpProxy(node)) {
    throw new ConfigError(
      'ERR_SLUICE_CONFIG_INVALID',
      'proxy: the proxy configuration is missing or disabled',
    );
  }
  if (!/^https?:\/\//i.test(node.url) || !URL.canParse(node.url)) {
    throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', 'proxy: its URL must start with http:// or https://');
  }
  const url = new URL(node.url);
  const { username, password } = node.credentials ?? {};
  if (username) url.username = encodeURIComponent(username);
  if (password) url.password = encodeURIComponent(password);
  return { proxy: { httpProxy: url.href, httpsProxy: url.href, noProxy: (node.noproxy ?? []).join(',') } };
}
