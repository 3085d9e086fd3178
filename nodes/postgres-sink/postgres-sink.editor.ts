import { defineNode } from '../../lib/editor/define-node';
import { fields, problemsOf } from './postgres-sink.config';

defineNode('postgres-sink', {
  kind: 'sink',
  fields,
  problemsOf,
  configNodes: { server: 'sluice-postgres-server' },
  inputs: 1,
  outputs: 1,
  label: ({ table }) => table,
  onOpen(form) {
    form.onChange(() => {
      const { batchRows } = form.config();
      form.setText('backlog', String(Math.max(batchRows * 20, 10_000)));
    });
  },
});
