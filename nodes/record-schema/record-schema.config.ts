import { choice, flag, text, type Fields } from '#lib/config/fields';

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
