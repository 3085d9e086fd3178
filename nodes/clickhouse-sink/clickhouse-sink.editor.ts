import { defineNode } from '../../lib/editor/define-node';
import { fields, problemsOf } from './clickhouse-sink.config';

defineNode('clickhouse-sink', {
  kind: 'sink',
  fields,
  problemsOf,
  configNodes: { server: 'sluice-clickhouse-server' },
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
