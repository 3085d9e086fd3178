import { SluiceError } from '../errors/errors';
import { errorLabel } from './input';

/**
 * What a node shows on the canvas for an error: a few words from `sluice.fault.<code without ERR_SLUICE_>` of the locale
 * files, at most 20 characters. The code itself belongs into the log and the status document; here it stands in only
 * where there are no words for it. `translate` is `RED._`.
 */
export function faultText(translate: (key: string) => string, error: unknown): string {
  const label = errorLabel(error);
  if (!(error instanceof SluiceError)) return label;
  const key = `sluice.fault.${label}`;
  const text = translate(key);
  return text === key || text === '' ? label : text;
}
