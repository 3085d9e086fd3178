import { choice, flag, text, type Conflict, type Fields } from '#lib/config/fields';

export interface RecordSchemaConfig {
  readonly name: string;
  /** JSON Schema, or the short form `{"temp": "float", "id": "bigint"}`. */
  readonly schema: string;
  /** `rule`: nullify where the tab drops what fails, else fail. */
  readonly onInvalid: 'rule' | 'fail' | 'nullify';
  /** Take text for the number or boolean that it spells. */
  readonly coerce: boolean;
}

export const fields: Fields<RecordSchemaConfig> = {
  name: text(),
  schema: text('', { required: true }),
  onInvalid: choice('rule', ['rule', 'fail', 'nullify']),
  coerce: flag(false),
};

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** What the form can tell; whether the schema compiles is found at the deploy. */
export function problemsOf({ schema }: RecordSchemaConfig): Conflict<RecordSchemaConfig>[] {
  if (schema === '' || isJsonObject(schema)) return [];
  return [{ property: 'schema', key: 'notJson', text: 'is not a JSON object' }];
}
