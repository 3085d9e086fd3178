import { defineNode } from '../../lib/editor/define-node';
import { fields, problemsOf } from './record-schema.config';

defineNode('record-schema', {
  kind: 'stage',
  fields,
  problemsOf,
  inputs: 1,
  outputs: 1,
  label: () => '',
});
