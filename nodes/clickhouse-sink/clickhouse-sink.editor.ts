import { backlogRowsOf } from '../../lib/config/batch-sink';
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
    form.onChange(() =>
      form.setText('backlog', String(backlogRowsOf({ ...form.config(), maxBacklogRows: 0 }))),
    );
  },
});
