import type { SchemeConfig } from './contract';
import { macOf } from './mac';
import type { SigningRequest } from './scheme';
import { schemeOf } from './schemes';
import { keyOf } from './verifier';

/**
 * The headers (lower-case names) that make a request valid for `makeVerifier` with the same configuration: for the
 * command line, the demo and tests. Throws ConfigError as `makeVerifier` does.
 */
export function sign(config: SchemeConfig, request: SigningRequest): Readonly<Record<string, string>> {
  const scheme = schemeOf(config);
  const key = keyOf(scheme, config.secret);
  return scheme.headers(request, (before, after) =>
    macOf(scheme.algorithm, key, before, request.body, after),
  );
}
