import { defineNode } from '../../lib/editor/define-node';
import { fields } from './delivery-status.config';

defineNode('delivery-status', {
  kind: 'errors',
  fields,
  inputs: 0,
  outputs: 1,
  label: () => '',
});
