/** JSON Schema by ajv, whose errors are put into the words of the dead-letter document. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { ConfigError } from '../errors/errors';
import { requireOptional } from '../packages/optional-package';
import { mismatch, type Mismatch } from './mismatch';

const AJV = { name: 'ajv', install: 'ajv@8 ajv-formats@3', neededFor: 'for JSON Schema' };
const FORMATS = { ...AJV, name: 'ajv-formats' };

/** The draft that `$schema` names decides which of ajv's editions understands it. */
const EDITIONS: readonly (readonly [RegExp, string])[] = [
  [/draft\/2020-12/, 'ajv/dist/2020'],
  [/draft\/2019-09/, 'ajv/dist/2019'],
  [/draft-0[67]/, 'ajv'],
];

export type JsonSchema = Readonly<Record<string, unknown>>;

type AjvClass = typeof import('ajv').Ajv;

export interface CompileOptions {
  readonly coerce: boolean;
  /** Find every mismatch, not only the first. */
  readonly all: boolean;
}

const invalid = (reason: string, cause?: unknown) =>
  new ConfigError('ERR_SLUICE_SCHEMA_DEFINITION', `the schema doesn't compile: ${reason}`, { cause });

function editionFor({ $schema }: JsonSchema): AjvClass {
  const entry = $schema === undefined ? 'ajv' : EDITIONS.find(([draft]) => draft.test(String($schema)))?.[1];
  if (entry === undefined) throw invalid('its $schema is none of the drafts 06, 07, 2019-09 and 2020-12');
  return requireOptional<{ default: AjvClass }>(AJV, entry).default;
}

/** Steps of a JSON pointer; an index where it leads through an array. */
function stepsOf(pointer: string, record: unknown): (string | number)[] {
  let value = record;
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((name) => {
      const isIndex = Array.isArray(value);
      value = (value as Record<string, unknown> | undefined)?.[name];
      return isIndex ? Number(name) : name;
    });
}

const typeName = (type: unknown) => (Array.isArray(type) ? type.join('|') : String(type));
const listed = (values: unknown) =>
  Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : '';

function mismatchOf(error: ErrorObject, record: unknown): Mismatch {
  const { keyword, message = 'is invalid', data } = error;
  const params = error.params as Readonly<Record<string, unknown>>;
  const path = stepsOf(error.instancePath, record);
  switch (keyword) {
    case 'type':
      return mismatch(path, `expected type '${typeName(params['type'])}'`, data);
    case 'required': {
      const missing = String(params['missingProperty']);
      const { properties } = (error.parentSchema ?? {}) as {
        properties?: Readonly<Record<string, { type?: unknown } | undefined>>;
      };
      const type = properties?.[missing]?.type;
      const what = type === undefined ? 'is required' : `expected type '${typeName(type)}'`;
      return mismatch([...path, missing], what, undefined);
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(params['additionalProperty'] ?? params['unevaluatedProperty']);
      return mismatch([...path, name], 'is not in the schema', (data as Record<string, unknown>)[name]);
    }
    case 'enum':
      return mismatch(path, `expected one of ${listed(params['allowedValues'])}`, data);
    case 'const':
      return mismatch(path, `expected ${JSON.stringify(params['allowedValue'])}`, data);
    default:
      return mismatch(path, message, data);
  }
}

/**
 * Compiles a schema; the result gives the mismatches of a record, and coerces it in place if asked to. Throws ConfigError
 * for a schema that doesn't compile; keywords and formats that ajv doesn't know are errors: what they meant would not be
 * checked.
 */
export function compileJsonSchema(
  schema: JsonSchema,
  { coerce, all }: CompileOptions,
): (record: unknown) => readonly Mismatch[] {
  if (schema['$async'] === true) throw invalid('$async is not supported');
  const Ajv = editionFor(schema);
  const addFormats = requireOptional<{ default: (ajv: InstanceType<AjvClass>) => void }>(FORMATS).default;
  let validate: ValidateFunction;
  try {
    const ajv = new Ajv({
      allErrors: all,
      coerceTypes: coerce,
      verbose: true,
      strict: true,
      strictTypes: false,
      strictTuples: false,
      strictRequired: false,
      allowUnionTypes: true,
      logger: false,
    });
    addFormats(ajv);
    validate = ajv.compile(schema);
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message : String(cause), cause);
  }
  return (record) => {
    if (validate(record)) return [];
    const errors = validate.errors ?? [];
    // Of a choice (anyOf and the like) the last error is that none of the branches fits.
    const counted = all ? errors : errors.slice(-1);
    return counted.map((error) => mismatchOf(error, record));
  };
}
