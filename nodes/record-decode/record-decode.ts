import { registerStage } from '#lib/node-red/record-stage';
import { spread } from '#lib/node-red/spread';
import type { Message, NodeRED } from '#lib/node-red/types';
import { decodePayload, type Described } from '#lib/record/decode';
import { checkCompression } from '#lib/record/decompress';
import { leaveRaw } from '#lib/record/raw-bytes';
import { checkEncoding } from '#lib/record/text';
import { fields } from './record-decode.config';

/** What a source that speaks HTTP says of the body. */
function described({ headers }: Message): Described {
  if (typeof headers !== 'object' || headers === null) return {};
  const values = headers as Readonly<Record<string, unknown>>;
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined);
  return { contentType: text('content-type'), contentEncoding: text('content-encoding') };
}

export = function register(RED: NodeRED): void {
  registerStage(RED, 'record-decode', {
    stage: 'CodecDecode',
    fields,
    start({ config, line }) {
      checkEncoding(config.encoding);
      checkCompression(config.compression);
      line.show('ok', 'sluice.stage.ready');
      return {
        process(msg) {
          const { payload } = msg;
          const decoded = decodePayload(payload, config, described(msg));
          const goOn = (records: readonly unknown[]) => {
            leaveRaw(msg, payload instanceof Uint8Array ? payload : Buffer.from(String(payload)));
            return spread(RED, msg, records);
          };
          return decoded instanceof Promise ? decoded.then(goOn) : goOn(decoded);
        },
      };
    },
  });
};
