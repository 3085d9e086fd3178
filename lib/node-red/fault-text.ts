import { codeOf, ownCodeOf } from '../errors/errors';

/** What fits into a node's status, for an error that isn't ours. */
const MAX_CHARACTERS = 20;

/**
 * What a node shows on the canvas for an error: a few words from `sluice.fault.<code without ERR_SLUICE_>` of the locale
 * files, at most 20 characters. The code itself belongs into the log and the status document; here it stands in only
 * where there are no words for it. `translate` is `RED._`.
 */
export function faultText(translate: (key: string) => string, error: unknown): string {
  const code = ownCodeOf(error);
  if (code === undefined) {
    return (error instanceof Error ? codeOf(error) : String(error)).slice(0, MAX_CHARACTERS);
  }
  const label = code.replace(/^ERR_SLUICE_/, '');
  const key = `sluice.fault.${label}`;
  const text = translate(key);
  return text === key || text === '' ? label : text;
}
