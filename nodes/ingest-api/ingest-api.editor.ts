import { showAddress } from '../../lib/editor/address';
import { defineNode } from '../../lib/editor/define-node';
import { credentials, fields, problemsOf } from './ingest-api.config';

defineNode('ingest-api', {
  kind: 'source',
  fields,
  problemsOf,
  credentials,
  requiredCredentials: () => ['token'],
  exactCredentials: ['token'],
  inputs: 0,
  outputs: 1,
  label: ({ source }) => source,
  onOpen(form) {
    showAddress(form, () => `api/ingest/${form.config().source || '{source}'}/{id}`);
  },
});
