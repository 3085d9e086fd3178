import type { Schema } from './admin-route';

/** Short forms for the schemas of answers: an object has all of `properties`, and may have more. */
export const object = (
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});
export const array = (items: Schema): Schema => ({ type: 'array', items });
export const oneOf = (...values: readonly string[]): Schema => ({ enum: values });
export const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });
export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
export const count: Schema = { type: 'integer', minimum: 0 };
export const number: Schema = { type: 'number' };

/** Who it is: id, name and type of a node, and the tab or subflow instance it is on. */
export const MEMBER = { id: text, name: text, type: text, z: text } as const;
export const LEVEL = oneOf('ok', 'high', 'full');
export const POLICY = oneOf('block', 'evict_oldest');
