import type { Scheme, SignedWebhookConfig } from './signed-webhook.config';

/** How a sender behaves when it isn't answered with success, as its own documentation has it. */
interface Sender {
  /** `never` and `hours` lose a record when the refusal lasts longer than that. */
  readonly retries: 'never' | 'minutes' | 'hours' | 'days' | 'unknown';
  /** Seconds it waits for an answer; undefined where it isn't stated. */
  readonly patienceSecs?: number;
}

const SENDERS: Readonly<Record<Scheme, Sender>> = {
  standard: { retries: 'days' },
  github: { retries: 'never', patienceSecs: 10 },
  stripe: { retries: 'days' },
  slack: { retries: 'minutes', patienceSecs: 3 },
  shopify: { retries: 'hours', patienceSecs: 5 },
  generic: { retries: 'unknown' },
};

/** Keys of the warnings in the form (`data-advice`), worst first. */
export type Advice = 'refusalLoses' | 'refusalLosesLater' | 'fullLoses' | 'answerTooLate';

/** What a sender's habits and the node's way of answering mean together. */
export function adviceFor(
  config: Pick<SignedWebhookConfig, 'scheme' | 'respond' | 'acceptWhileFull' | 'doneTimeoutSecs'>,
): Advice[] {
  const { retries, patienceSecs } = SENDERS[config.scheme];
  const givesUpSoon = retries === 'never' || retries === 'minutes';
  if (config.respond === 'on_receipt') return givesUpSoon && !config.acceptWhileFull ? ['fullLoses'] : [];
  const advice: Advice[] = [];
  if (retries === 'never') advice.push('refusalLoses');
  else if (givesUpSoon || retries === 'hours') advice.push('refusalLosesLater');
  if (patienceSecs !== undefined && config.doneTimeoutSecs > patienceSecs) advice.push('answerTooLate');
  return advice;
}
