import { ALERT_KINDS } from '../../lib/config/alert-kinds';
import { checklist, nodesOfOurs } from '../../lib/editor/checklist';
import { defineNode } from '../../lib/editor/define-node';
import { fields, problemsOf } from './alert.config';

const NO_PLACES = new Set(['alert', 'delivery-status']);

defineNode('alert', {
  kind: 'errors',
  fields,
  problemsOf,
  inputs: 0,
  outputs: 1,
  label: () => '',
  onOpen(form) {
    checklist(
      form,
      'kinds',
      ALERT_KINDS.map((kind) => ({
        value: kind,
        label: RED._(`@sluice/node-red/alert:alert.option.kinds.${kind}`),
      })),
    );
    checklist(form, 'scope', [
      ...nodesOfOurs(NO_PLACES),
      ...['inbox', 'runtime'].map((part) => ({
        value: part,
        label: RED._(`@sluice/node-red/alert:alert.option.scope.${part}`),
      })),
    ]);
  },
});
