import { defineConfigNode } from '../../lib/editor/define-node';
import { credentials, fields } from './sluice-postgres-server.config';

defineConfigNode('sluice-postgres-server', {
  fields,
  credentials,
  requiredCredentials: () => ['username'],
  configNodes: { tls: 'tls-config' },
  label: ({ host, port, database }) => `${host}:${port}/${database}`,
});
