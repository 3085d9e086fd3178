import { defineNode } from '../../lib/editor/define-node';
import { fields, problemsOf } from './push-queue.config';

defineNode('push-queue', {
  kind: 'queue',
  fields,
  problemsOf,
  inputs: 1,
  outputs: 2,
  label: ({ queue }) => queue,
  onOpen(form) {
    form.onChange(() => form.setText('file', `${form.config().queue}_queue.db`));
  },
});
