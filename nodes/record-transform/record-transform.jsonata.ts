import { ConfigError } from '#lib/errors/errors';
import type { Message, NodeRED, RuntimeNode } from '#lib/node-red/types';
import { refuseUnstorable } from '#lib/record/finite-value';
import { RecordError } from '#lib/record/record-error';

const MAX_MESSAGE = 200;

/** JSONata throws objects that aren't errors. */
function reasonOf(error: unknown): string {
  const hasMessage = typeof error === 'object' && error !== null && 'message' in error;
  const text = hasMessage ? String(error.message) : String(error);
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}

const isFunction = (value: unknown) =>
  typeof value === 'object' && value !== null && ('_jsonata_lambda' in value || '_jsonata_function' in value);

/**
 * A JSONata expression over the message, as in Node-RED's own nodes. The result gives the records that come of one: none
 * where it is undefined. Throws ConfigError for a syntax error; the result rejects with RecordError.
 */
export function compileJsonata(
  RED: NodeRED,
  node: RuntimeNode,
  expression: string,
): (msg: Message) => Promise<readonly unknown[]> {
  let prepared: object;
  try {
    prepared = RED.util.prepareJSONataExpression(expression, node);
  } catch (cause) {
    const text = `the expression can't be used: ${reasonOf(cause)}`;
    throw new ConfigError('ERR_SLUICE_TRANSFORM_EXPRESSION', text, { cause });
  }
  return (msg) =>
    new Promise((resolve, reject) => {
      RED.util.evaluateJSONataExpression(prepared, msg, (error, result) => {
        if (error !== null && error !== undefined) {
          reject(new RecordError('ERR_SLUICE_TRANSFORM_FAILED', reasonOf(error), { cause: error }));
          return;
        }
        if (result === undefined) return resolve([]);
        try {
          if (isFunction(result))
            throw new RecordError('ERR_SLUICE_TRANSFORM_FAILED', 'the result is a function');
          refuseUnstorable(result);
          resolve([result]);
        } catch (fault) {
          reject(fault);
        }
      });
    });
}
