import { createRequire } from 'node:module';
import { ConfigError } from '../errors/errors';

/** A package that only some settings need, so that it isn't installed with this one. */
export interface OptionalPackage {
  readonly name: string;
  /** What `npm install` is told, with the version: `ajv@8`; several with spaces between. */
  readonly install: string;
  /** Ends the sentence "… is needed". */
  readonly neededFor: string;
}

type Require = (name: string) => unknown;

const ownRequire = createRequire(__filename);

function missing({ name, install, neededFor }: OptionalPackage, cause: unknown): ConfigError {
  const text = `${name} is needed ${neededFor}: in Node-RED's user directory run "npm install ${install}", then restart Node-RED`;
  return new ConfigError('ERR_SLUICE_PACKAGE_MISSING', text, { cause });
}

/** Throws ConfigError with the line that installs the package when it isn't there, without loading it. */
export function findOptional(wanted: OptionalPackage): void {
  try {
    ownRequire.resolve(wanted.name);
  } catch (cause) {
    throw missing(wanted, cause);
  }
}

/**
 * Loads the package, its `entry` where that isn't the main one. Throws ConfigError with the line that installs it when it
 * isn't there; whatever else goes wrong while it loads, it throws as it is.
 */
export function requireOptional<Module>(
  wanted: OptionalPackage,
  entry = wanted.name,
  load: Require = ownRequire,
): Module {
  try {
    return load(entry) as Module;
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'MODULE_NOT_FOUND';
    if (!isMissing || !cause.message.includes(`'${entry}'`)) throw cause;
    throw missing(wanted, cause);
  }
}
