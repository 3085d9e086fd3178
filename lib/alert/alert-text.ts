import type { Alert, PlaceName } from './alert-machine';

/** Type of a place that is no node, but a part of the runtime. */
export const PART_OF_RUNTIME = 'sluice';

/** `RED._` */
export type Translate = (key: string, values?: Readonly<Record<string, unknown>>) => string;

/**
 * An alert in words, from `sluice.alert` of the locale files: `<kind>.<level>`, and for a full queue or a loss its case
 * below that. Losses and errors without words of their own are shown by their names.
 */
export function alertText(translate: Translate, alert: Omit<Alert, 'text'>): string {
  const { kind, what, level, place, count, values } = alert;
  const shown = { ...values, what, count, place: describe(place) };
  const text = (key: string, more: Readonly<Record<string, unknown>> = {}) => {
    const found = translate(`sluice.alert.${key}`, { ...shown, ...more });
    return found.endsWith(`sluice.alert.${key}`) ? undefined : found;
  };
  const plain = `${shown.place}: ${kind} ${what} ${level}`;
  if ('removed' in values) return text('removed') ?? plain;
  if (kind === 'loss' && level === 'full') {
    return text('loss.full', { reason: text(`loss.reason.${what}`) ?? what }) ?? plain;
  }
  if (kind === 'queue' && level === 'full') return text(`queue.full.${what}`) ?? plain;
  return text(`${kind}.${level}`) ?? plain;
}

const describe = ({ type, name }: PlaceName) => (type === PART_OF_RUNTIME ? name : `${type} "${name}"`);
