import { ConfigError } from '../errors/errors';
import type { RuntimeNode } from './types';

/** Node-RED's own `tls-config` node. */
interface TlsConfigNode extends RuntimeNode {
  readonly valid: boolean;
  addTLSOptions(options: Record<string, unknown>): Record<string, unknown>;
}

const isTlsConfig = (node: RuntimeNode): node is TlsConfigNode => 'addTLSOptions' in node;

/** Options for `tls.connect` from the chosen `tls-config` node; none for ''. Throws ConfigError for one that can't be used. */
export function tlsOptions(
  id: string,
  getNode: (id: string) => RuntimeNode | null,
): Readonly<Record<string, unknown>> {
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
