import { ConfigError } from '../errors/errors';
import type { Conflict, Fields, Problem } from './fields';

const SENTENCES: Record<Problem['key'], string> = {
  required: 'is required',
  number: 'must be a number',
  integer: 'must be a whole number',
  min: 'must be at least {min}',
  max: 'must be at most {max}',
  choice: 'must be one of: {options}',
  pattern: 'has characters that are not allowed here',
};

function sentence({ key, values = {} }: Problem): string {
  return SENTENCES[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}

/**
 * Checks and completes a node's saved properties; `problemsOf` adds the rules over several of them. Throws ConfigError
 * that names the first property that won't do.
 */
export function readConfig<Config extends object>(
  fields: Fields<Config>,
  saved: object,
  problemsOf: (config: Config) => readonly Conflict<Config>[] = () => [],
): Config {
  const source = saved as Record<string, unknown>;
  const config: Partial<Config> = {};
  for (const name of Object.keys(fields) as (keyof Config & string)[]) {
    const parsed = fields[name].parse(source[name]);
    if ('problem' in parsed) {
      throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', `${name} ${sentence(parsed.problem)}`);
    }
    config[name] = parsed.value;
  }
  const complete = config as Config;
  const [conflict] = problemsOf(complete);
  if (conflict) throw new ConfigError('ERR_SLUICE_CONFIG_INVALID', `${conflict.property} ${conflict.text}`);
  return complete;
}
