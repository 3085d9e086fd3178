import { ConfigError } from '../errors/errors';

const REFERENCE = /^\$\{([^{}]+)\}$/;

/**
 * Node-RED puts an environment variable's value in place of `${NAME}`, and leaves the text as it is when there is no
 * such variable. As a secret that text would be one that anybody can guess: throws ConfigError.
 */
export function refuseUnsetVariable(secret: string): void {
  const name = REFERENCE.exec(secret.trim())?.[1];
  if (name === undefined) return;
  throw new ConfigError('ERR_SLUICE_SECRET_VARIABLE_UNSET', `The environment variable ${name} is not set.`);
}
