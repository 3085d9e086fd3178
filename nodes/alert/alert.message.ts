import type { Alert } from '#lib/alert/alert-machine';
import type { Message } from '#lib/node-red/types';

/** An alert as it goes into the flow: `payload` for people, `topic` for a subject line, `alert` for rules. */
export function messageOf({ values, text, ...alert }: Alert): Message {
  return { payload: text, topic: `${alert.severity}: ${alert.place.name}`, alert: { ...values, ...alert } };
}
