import { ConfigError } from '../errors/errors';
import { MAX_DEPTH } from './depth';
import { compileJsonSchema, type JsonSchema } from './json-schema';
import { fieldName, type Mismatch } from './mismatch';
import { RecordError } from './record-error';
import { compileShortSchema } from './short-schema';

export interface SchemaOptions {
  /** Take "5" for 5 where the schema asks for a number, and the like. */
  readonly coerce: boolean;
  /** Copies a record before it is coerced: dead letters show it as it was. */
  readonly clone: <T>(value: T) => T;
}

/** A record that passed. */
export interface Checked {
  readonly record: unknown;
  /** Names of the fields that were set to null. */
  readonly nullified: readonly string[];
}

export interface RecordSchema {
  /**
   * Throws RecordError for a record that doesn't fit. Where `nullify`, which is asked only then, says yes, those fields
   * that don't fit become null in a copy; it throws only for what isn't a field.
   */
  check(record: unknown, nullify: () => boolean): Checked;
}

/** All that can stand at the top of a JSON Schema, besides what begins with `$`. */
const KEYWORDS = new Set(
  `type title description default examples deprecated readOnly writeOnly format contentMediaType contentEncoding contentSchema
  properties patternProperties additionalProperties propertyNames required dependencies dependentRequired dependentSchemas
  minProperties maxProperties unevaluatedProperties items additionalItems prefixItems contains minContains maxContains
  unevaluatedItems minItems maxItems uniqueItems allOf anyOf oneOf not if then else enum const definitions minimum maximum
  exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern`.split(/\s+/),
);

/** A value that the short form could have there: the name of a type, or a list of one. */
const couldBeShort = (name: string, value: unknown) =>
  typeof value === 'string' || (name === 'items' && Array.isArray(value) && typeof value[0] === 'string');

/** Fields may be called like keywords: it takes more than their names. */
function isJsonSchema(schema: JsonSchema): boolean {
  const entries = Object.entries(schema);
  if (entries.some(([name]) => name.startsWith('$'))) return true;
  return (
    entries.every(([name]) => KEYWORDS.has(name)) &&
    entries.some(([name, value]) => !couldBeShort(name, value))
  );
}

function parseSchema(text: string): JsonSchema {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (cause) {
    throw new ConfigError('ERR_SLUICE_SCHEMA_DEFINITION', 'the schema is not JSON', { cause });
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new ConfigError('ERR_SLUICE_SCHEMA_DEFINITION', 'the schema is not a JSON object');
  }
  if (Object.keys(schema).length === 0) {
    throw new ConfigError('ERR_SLUICE_SCHEMA_DEFINITION', 'the schema is empty: it would check nothing');
  }
  return schema as JsonSchema;
}

type FindAll = (record: unknown) => readonly Mismatch[];

/** The short form gives up at the first mismatch or goes on by itself; ajv has to be compiled for either. */
function compile(schema: JsonSchema, coerce: boolean): { readonly first: FindAll; readonly all: FindAll } {
  const short = isJsonSchema(schema) ? undefined : compileShortSchema(schema, coerce);
  if (!short) {
    const first = compileJsonSchema(schema, { coerce, all: false });
    let all: FindAll | undefined;
    return { first, all: (record) => (all ??= compileJsonSchema(schema, { coerce, all: true }))(record) };
  }
  const find = (record: unknown, goOn: boolean) => {
    const found: Mismatch[] = [];
    short(record, (one) => {
      found.push(one);
      return goOn;
    });
    return found;
  };
  return { first: (record) => find(record, false), all: (record) => find(record, true) };
}

/** A copy of the record in which the value at `path` is null; what lies beside it is shared. */
function withNull(value: unknown, path: Mismatch['path']): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return null;
  if (Array.isArray(value)) {
    const items = value as readonly unknown[];
    return items.map((item, index) => (index === step ? withNull(item, rest) : item));
  }
  const object = (value ?? {}) as Readonly<Record<string | number, unknown>>;
  return { ...object, [step]: withNull(object[step], rest) };
}

const failed = ({ message }: Mismatch) => new RecordError('ERR_SLUICE_SCHEMA_MISMATCH', message);

/** Throws ConfigError (`ERR_SLUICE_SCHEMA_DEFINITION`) for a schema that doesn't compile. */
export function compileSchema(text: string, { coerce, clone }: SchemaOptions): RecordSchema {
  const { first, all } = compile(parseSchema(text), coerce);

  function nullified(record: unknown): Checked {
    const mismatches = all(record);
    const whole = mismatches.find(({ path }) => path.length === 0);
    if (whole) throw failed(whole);
    // A field within one that becomes null anyway needs nothing of its own.
    const fields = new Map(mismatches.map((one) => [fieldName(one.path), one.path]));
    const outer = [...fields].filter(
      ([, path]) => !path.some((_, end) => fields.has(fieldName(path.slice(0, end)))),
    );
    return {
      record: outer.reduce((copy, [, path]) => withNull(copy, path), record),
      nullified: outer.map(([name]) => name),
    };
  }

  return {
    check(given, nullify) {
      const record = coerce ? clone(given) : given;
      try {
        const [mismatch] = first(record);
        if (!mismatch) return { record, nullified: [] };
        if (nullify()) return nullified(record);
        throw failed(mismatch);
      } catch (error) {
        // A schema that refers to itself recurses as deep as the record.
        if (!(error instanceof RangeError)) throw error;
        throw new RecordError(
          'ERR_SLUICE_SCHEMA_MISMATCH',
          `The record nests too deep, far over ${MAX_DEPTH} levels`,
        );
      }
    },
  };
}
