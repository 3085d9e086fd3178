import { defineNode } from '../../lib/editor/define-node';
import { fields } from './record-schema.config';

defineNode('record-schema', {
  kind: 'stage',
  fields,
  inputs: 1,
  outputs: 1,
  label: () => '',
});
