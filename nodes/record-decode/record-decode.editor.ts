import { defineNode } from '../../lib/editor/define-node';
import { fields } from './record-decode.config';

defineNode('record-decode', {
  kind: 'stage',
  fields,
  inputs: 1,
  outputs: 1,
  label: ({ codec, compression }) => (compression === 'none' ? codec : `${compression} ${codec}`),
});
