import { ConfigError } from '../errors/errors';
import type { SchemeConfig, SchemeName } from './contract';
import type { Scheme } from './scheme';
import { makeGeneric } from './schemes/generic';
import { github } from './schemes/github';
import { shopify } from './schemes/shopify';
import { slack } from './schemes/slack';
import { standard } from './schemes/standard';
import { stripe } from './schemes/stripe';

/** All schemes by the name they are saved under. */
const SCHEMES: Record<SchemeName, (config: SchemeConfig) => Scheme> = {
  standard: () => standard,
  github: () => github,
  stripe: () => stripe,
  slack: () => slack,
  shopify: () => shopify,
  generic: makeGeneric,
};

/** Throws ConfigError for an unknown scheme or properties that can't work. */
export function schemeOf(config: SchemeConfig): Scheme {
  if (!Object.hasOwn(SCHEMES, config.scheme)) {
    throw new ConfigError('ERR_SLUICE_WEBHOOK_SCHEME_INVALID', 'The scheme is not one of the known ones.');
  }
  return SCHEMES[config.scheme](config);
}
