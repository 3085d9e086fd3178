import { registerStage } from '#lib/node-red/record-stage';
import type { NodeRED } from '#lib/node-red/types';
import { compileSchema } from '#lib/record/schema';
import { fields, problemsOf } from './record-schema.config';

export = function register(RED: NodeRED): void {
  registerStage(RED, 'record-schema', {
    stage: 'SchemaValidation',
    fields,
    problemsOf,
    start({ node, config, runtime, name, line }) {
      const { schema, coerce, onInvalid } = config;
      const compiled = compileSchema(schema, { coerce, clone: (value) => RED.util.cloneMessage(value) });
      const { deadLetters } = runtime;
      const isDropping = () => deadLetters.room.rules.of(deadLetters.ruleOf(node)).policy.onError === 'drop';
      const nullifies = () => (onInvalid === 'rule' ? isDropping() : onInvalid === 'nullify');
      line.show('ok', 'sluice.stage.ready');
      return {
        process(msg) {
          const { record, nullified } = compiled.check(msg.payload, nullifies);
          msg.payload = record;
          if (nullified.length > 0) {
            msg['nullified'] = nullified;
            runtime.metrics.fieldsNullified(name, nullified.length);
          }
          return [msg];
        },
      };
    },
  });
};
