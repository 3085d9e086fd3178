import { choice, number, text, type Fields } from '#lib/config/fields';

export interface DeliveryStatusConfig {
  name: string;
  intervalSecs: number;
  /** At each interval, or only when something other than an age has changed since. */
  emit: 'change' | 'interval';
}

export const fields: Fields<DeliveryStatusConfig> = {
  name: text(),
  intervalSecs: number(5, { min: 1, max: 3600 }),
  emit: choice('change', ['change', 'interval']),
};
