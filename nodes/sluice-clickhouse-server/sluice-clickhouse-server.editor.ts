import { defineConfigNode } from '../../lib/editor/define-node';
import { credentials, fields } from './sluice-clickhouse-server.config';

defineConfigNode('sluice-clickhouse-server', {
  fields,
  credentials,
  configNodes: { tls: 'tls-config' },
  label: ({ url, database }) => `${url}/${database}`,
});
