/** What the dialogs of all our nodes share: properties, credentials, and the reasons why a value won't do. */
import type { Credentials, Fields } from '../config/fields';
import { Form, type InputPrefix } from './form';
import { KnownCredentials } from './known-credentials';
import { lenientConfig, problemWith, type ProblemsOf } from './problems';
import type { DialogDefinition, EditorNode, NodeDefinition, PropertyDefinition } from './red';

/** Start of the namespaces under which Node-RED keeps our texts: the package's name. */
const PACKAGE = '@sluice/node-red';

export interface DialogOptions<Config extends object> {
  readonly fields: Fields<Config>;
  readonly credentials?: Credentials<string>;
  /** Those without which a node with this config can't start. */
  readonly requiredCredentials?: (config: Config) => readonly string[];
  /** Those that never begin or end with white space: more of it was copied than meant. */
  readonly exactCredentials?: readonly string[];
  /** Properties that hold the id of a config node, with its type: the editor makes their input a choice of those. */
  readonly configNodes?: Partial<Record<keyof Config & string, string>>;
  readonly problemsOf?: ProblemsOf<Config>;
  /** Text for a node without a name. */
  readonly label: (config: Config) => string;
  /** Runs when the dialog opens, its inputs filled in. */
  readonly onOpen?: (form: Form<Config>, node: EditorNode) => void;
}

export type Translate = (key: string, values?: Readonly<Record<string, string | number>>) => string;

export const translateFor =
  (type: string): Translate =>
  (key, values = {}) =>
    RED._(`${PACKAGE}/${type}:${key}`, values);

export function dialogOf<Config extends { name: string }>(
  type: string,
  options: DialogOptions<Config>,
  prefix: InputPrefix,
): DialogDefinition {
  const { fields, credentials = {}, exactCredentials = [] } = options;
  const requiredCredentials = options.requiredCredentials ?? (() => []);
  const problemsOf = options.problemsOf ?? (() => []);
  const names = Object.keys(fields) as (keyof Config & string)[];
  const openForms = new Map<string, Form<Config>>();
  const knownCredentials = new KnownCredentials();
  const translate = translateFor(type);

  function reasonFor(name: keyof Config & string, values: Readonly<Record<string, unknown>>): string {
    const problem = problemWith(name, values, fields, problemsOf);
    if (!problem) return '';
    if ('property' in problem) return translate(`${type}.problem.${problem.key}`);
    return translate(`sluice.problem.${problem.key}`, problem.values);
  }

  function credentialReason(name: string, value: string, config: Config): string {
    if (value === '') {
      return requiredCredentials(config).includes(name) ? translate('sluice.problem.required') : '';
    }
    const isWrong = exactCredentials.includes(name) && value !== value.trim();
    return isWrong ? translate('sluice.problem.outerSpace') : '';
  }

  /** For the canvas: there Node-RED checks no credentials itself. In the dialog their own inputs tell. */
  function missingCredential(node: EditorNode): string {
    const required = requiredCredentials(lenientConfig(fields, node));
    if (required.length === 0 || openForms.has(node.id)) return '';
    const known = knownCredentials.of(node);
    const missing = known && required.find((name) => !known.has(name));
    if (missing === undefined) return '';
    return translate('sluice.problem.credential', { name: translate(`${type}.field.${missing}`) });
  }

  function property(name: keyof Config & string): PropertyDefinition {
    const configType = options.configNodes?.[name];
    return {
      value: fields[name].default,
      ...(configType === undefined ? {} : { type: configType, required: false }),
      // Other properties count as they stand in the open dialog, not as they were saved last.
      validate(value, _options) {
        const others = openForms.get(this.id)?.values() ?? this;
        const reason = reasonFor(name, { ...others, [name]: value });
        return reason || (name === 'name' && missingCredential(this)) || true;
      },
    };
  }

  /** Why each input of the dialog won't do; empty for one that will. */
  function reasonsFor(
    values: Readonly<Record<string, unknown>>,
    credential: (name: string) => string,
  ): Map<string, string> {
    const reasons = new Map<string, string>(names.map((name) => [name, reasonFor(name, values)]));
    const config = lenientConfig(fields, values);
    for (const name of Object.keys(credentials)) {
      reasons.set(name, credentialReason(name, credential(name), config));
    }
    return reasons;
  }

  function close(this: EditorNode): void {
    openForms.delete(this.id);
  }

  return {
    defaults: Object.fromEntries(names.map((name) => [name, property(name)])),
    credentials: Object.fromEntries(
      Object.entries(credentials).map(([name, { type: kindOfInput }]) => [
        name,
        {
          type: kindOfInput,
          validate(value: unknown, _options: unknown) {
            const config = openForms.get(this.id)?.config() ?? lenientConfig(fields, this);
            return credentialReason(name, String(value ?? ''), config) || true;
          },
        } satisfies NodeDefinition['credentials'][string] & ThisType<EditorNode>,
      ]),
    ),
    label() {
      // A node that was saved before a property existed, or was never edited, lacks it.
      const values = Object.fromEntries(names.map((name) => [name, this[name] ?? fields[name].default]));
      return this.name || options.label(values as unknown as Config) || translate(`${type}.label.palette`);
    },
    oneditprepare() {
      const form = new Form(fields, this, reasonsFor, prefix);
      openForms.set(this.id, form);
      options.onOpen?.(form, this);
      form.start();
    },
    oneditsave: close,
    oneditcancel: close,
    oneditdelete: close,
  };
}
