import { faultText } from '#lib/node-red/fault-text';
import { registerStage, type StageContext, type StageWork } from '#lib/node-red/record-stage';
import { spread } from '#lib/node-red/spread';
import type { NodeRED } from '#lib/node-red/types';
import { fields, problemsOf, type RecordTransformConfig } from './record-transform.config';
import { compileJsonata } from './record-transform.jsonata';
import { openSql } from './record-transform.sql';

type Context = StageContext<RecordTransformConfig>;

function startJsonata({ RED, node, config, line }: Context): StageWork {
  const evaluate = compileJsonata(RED, node, config.expression);
  line.show('ok', 'sluice.stage.ready');
  return { process: (msg) => evaluate(msg).then((records) => spread(RED, msg, records)) };
}

/** The engine takes seconds to start; records that come meanwhile wait for it. */
function startSql({ RED, node, config, line }: Context): StageWork {
  const sql = openSql(config);
  let isClosed = false;
  line.show('waiting', 'sluice.stage.starting');
  sql.ready.then(
    () => line.show('ok', 'sluice.stage.ready'),
    (error: unknown) => {
      if (isClosed) return;
      node.error(error);
      line.show(
        'down',
        faultText((key) => RED._(key), error),
      );
    },
  );
  return {
    process: (msg) => sql.run(msg.payload).then((rows) => spread(RED, msg, rows)),
    close() {
      isClosed = true;
      sql.close();
    },
  };
}

export = function register(RED: NodeRED): void {
  registerStage(RED, 'record-transform', {
    stage: 'SqlEval',
    fields,
    problemsOf,
    start: (context) => (context.config.language === 'sql' ? startSql(context) : startJsonata(context)),
  });
};
