import { defineNode } from '../../lib/editor/define-node';
import { fields, problemsOf } from './record-transform.config';

/** The beginning of the expression, short enough for the canvas. */
function shortExpression(expression: string): string {
  const line = expression.replace(/\s+/g, ' ').trim();
  return line.length > 32 ? `${line.slice(0, 31)}…` : line;
}

defineNode('record-transform', {
  kind: 'stage',
  fields,
  problemsOf,
  inputs: 1,
  outputs: 1,
  label: ({ expression }) => shortExpression(expression),
});
