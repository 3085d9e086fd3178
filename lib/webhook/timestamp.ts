import { SignatureError } from './signature-error';

// 15 digits hold any plausible time, milliseconds included, and stay exact in a double.
const DIGITS = /^\d{1,15}$/;

/** Unix seconds of a timestamp that is digits and nothing else. `where` names its header in the message. */
export function parseTimestampSecs(text: string, where: string, unit: 's' | 'ms' = 's'): number {
  if (!DIGITS.test(text)) {
    throw new SignatureError('malformed_header', `The timestamp in ${where} is not a number of ${unit}.`);
  }
  return unit === 'ms' ? Number(text) / 1000 : Number(text);
}

/** Refuses a timestamp that lies more than `toleranceSecs` in the past or in the future. */
export function checkFresh(timestampSecs: number, nowSecs: number, toleranceSecs: number): void {
  const ageSecs = nowSecs - timestampSecs;
  if (Math.abs(ageSecs) <= toleranceSecs) return;
  const distance = `${Math.abs(Math.round(ageSecs))} s ${ageSecs > 0 ? 'old' : 'ahead of this clock'}`;
  throw new SignatureError(
    'stale_timestamp',
    `The request is ${distance}; ${toleranceSecs} s are allowed. Check both clocks, or it was sent again by someone else.`,
  );
}
