import { registerStage } from '#lib/node-red/record-stage';
import type { NodeRED } from '#lib/node-red/types';
import { compileTemplate } from '#lib/record/template';
import { fields } from './record-template.config';

export = function register(RED: NodeRED): void {
  registerStage(RED, 'record-template', {
    stage: 'DataTemplate',
    fields,
    start({ config, line }) {
      const write = compileTemplate(config.template, config);
      line.show('ok', 'sluice.stage.ready');
      return {
        process(msg) {
          msg.payload = write(msg.payload, msg).value;
          return [msg];
        },
      };
    },
  });
};
