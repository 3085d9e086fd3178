import { defineNode } from '../../lib/editor/define-node';
import { fields } from './record-template.config';

defineNode('record-template', {
  kind: 'stage',
  fields,
  inputs: 1,
  outputs: 1,
  label: () => '',
});
