import { ConfigError } from '#lib/errors/errors';
import type { RuntimeNode } from '#lib/node-red/types';
import type { ProxyOptions } from './rest-sink.client';

/** Node-RED's own `tls-config` node. */
interface TlsConfigNode extends RuntimeNode {
  readonly valid: boolean;
  addTLSOptions(options: Record<string, unknown>): Record<string, unknown>;
}

/** Node-RED's own `http proxy` node. */
interface HttpProxyNode extends RuntimeNode {
  readonly url: string;
  readonly noproxy?: readonly string[];
}

type GetNode = (id: string) => RuntimeNode | null;

const isTlsConfig = (node: RuntimeNode): node is TlsConfigNode => 'addTLSOptions' in node;
const isHttpProxy = (node: RuntimeNode): node is HttpProxyNode => node.type === 'http proxy' && 'url' in node;

/** Options for `tls.connect` from the chosen `tls-config` node. Throws ConfigError for one that can't be used. */
export function tlsOptions(id: string, getNode: GetNode): Readonly<Record<string, unknown>> {
  if (id === '') return {};
  const node = getNode(id);
  if (!node || !isTlsConfig(node)) {
    throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', 'tls: the TLS configuration is missing or disabled');
  }
  if (!node.valid) {
    throw new ConfigError(
      'ERR_SLUICE_CONFIG_INVALID',
      'tls: the certificates of the TLS configuration cannot be read',
    );
  }
  return node.addTLSOptions({});
}

/** The chosen `http proxy` node's settings. Throws ConfigError for one that can't be used. */
export function proxyOptions(id: string, getNode: GetNode): { readonly proxy?: ProxyOptions } {
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
