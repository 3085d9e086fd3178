import type { Conflict, Fields, Problem } from '../config/fields';

export type ProblemsOf<Config> = (config: Config) => readonly Conflict<Config>[];
type Saved = Readonly<Record<string, unknown>>;

/** Node-RED fills in `${NAME}` when it starts the node, so the form can't judge such a value. */
export function isEnvReference(value: unknown): boolean {
  return typeof value === 'string' && /\$\{[^}]+\}/.test(value);
}

/** The saved properties in their own types; a default stands in for what can't be judged or doesn't parse. */
export function lenientConfig<Config extends object>(fields: Fields<Config>, saved: Saved): Config {
  const config: Partial<Config> = {};
  for (const name of Object.keys(fields) as (keyof Config & string)[]) {
    const field = fields[name];
    const parsed = isEnvReference(saved[name]) ? { value: field.default } : field.parse(saved[name]);
    config[name] = 'value' in parsed ? parsed.value : field.default;
  }
  return config as Config;
}

/** What is wrong with one property as things stand in `saved`: with itself first, then with how it fits the others. */
export function problemWith<Config extends object>(
  name: keyof Config & string,
  saved: Saved,
  fields: Fields<Config>,
  problemsOf: ProblemsOf<Config>,
): Problem | Conflict<Config> | undefined {
  if (isEnvReference(saved[name])) return undefined;
  const parsed = fields[name].parse(saved[name]);
  if ('problem' in parsed) return parsed.problem;
  return problemsOf(lenientConfig(fields, saved)).find((conflict) => conflict.property === name);
}
