import type { ErrorCode } from '../errors/codes';
import { VerifyError } from '../errors/errors';
import type { RefusalReason } from './contract';

const CODES: Record<RefusalReason, ErrorCode> = {
  bad_signature: 'ERR_SLUICE_WEBHOOK_BAD_SIGNATURE',
  missing_header: 'ERR_SLUICE_WEBHOOK_MISSING_HEADER',
  malformed_header: 'ERR_SLUICE_WEBHOOK_MALFORMED_HEADER',
  stale_timestamp: 'ERR_SLUICE_WEBHOOK_STALE_TIMESTAMP',
};

/** A request that isn't what the sender signed. The message names the header, never a value of it. */
export class SignatureError extends VerifyError {
  constructor(
    readonly reason: RefusalReason,
    message: string,
  ) {
    super(CODES[reason], message);
  }
}
