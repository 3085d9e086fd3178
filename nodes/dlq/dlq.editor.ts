import { defineNode } from '../../lib/editor/define-node';
import { fields } from './dlq.config';

defineNode('dlq', {
  kind: 'errors',
  fields,
  inputs: 1,
  outputs: 1,
  label: ({ onError }) => (onError === 'dlq' ? '' : `dlq: ${onError}`),
});
