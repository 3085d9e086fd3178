import { choice, flag, text, type Fields } from '#lib/config/fields';

export interface RecordTemplateConfig {
  readonly name: string;
  readonly template: string;
  /** `json`: what the template makes is parsed, and has to be JSON. */
  readonly output: 'string' | 'json';
  readonly syntax: 'mustache';
  /** A variable that isn't in the record fails it. */
  readonly strict: boolean;
}

export const fields: Fields<RecordTemplateConfig> = {
  name: text(),
  template: text('', { required: true, verbatim: true }),
  output: choice('string', ['string', 'json']),
  syntax: choice('mustache', ['mustache']),
  strict: flag(true),
};
