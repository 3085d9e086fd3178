import type { ErrorCode } from './codes';

/**
 * How a failed delivery ends: `transient` (try again), `permanent` (this record can never work) or
 * `config` (the destination or its credentials are wrong; the record is good and is kept).
 */
export type FailureClass = 'transient' | 'permanent' | 'config';

interface ErrorOptionsWithCause {
  cause?: unknown;
}

/** Base of every error this package raises. `code` is the public contract, `message` the operator's next step. */
export class SluiceError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    options: ErrorOptionsWithCause = {},
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A node's saved configuration cannot work; the node shows it in red and doesn't start. */
export class ConfigError extends SluiceError {}

/** What came in over HTTP or from a message is malformed. */
export class InputError extends SluiceError {}

/** A signature or token was refused; `reason` is for logs and tests, never for the sender. */
export class VerifyError extends SluiceError {}

/** A durable store could not do what it was asked; nothing was acknowledged. */
export class StoreError extends SluiceError {}

interface DeliveryErrorOptions extends ErrorOptionsWithCause {
  failure: FailureClass;
  /** Milliseconds the destination asked to wait, from its Retry-After. */
  retryAfterMs?: number;
  /** Name of the sink that refused or failed, for the origin's answer. */
  sink?: string;
}

/** A sink could not take custody of a record. */
export class DeliveryError extends SluiceError {
  readonly failure: FailureClass;
  readonly retryAfterMs: number | undefined;
  readonly sink: string | undefined;

  constructor(code: ErrorCode, message: string, options: DeliveryErrorOptions) {
    super(code, message, options);
    this.failure = options.failure;
    this.retryAfterMs = options.retryAfterMs;
    this.sink = options.sink;
  }
}

/** The class of any error; one that isn't ours is transient, because losing a good record is the worse mistake. */
export function failureClassOf(error: unknown): FailureClass {
  if (error instanceof Error && 'failure' in error) {
    const { failure } = error;
    if (failure === 'permanent' || failure === 'config') return failure;
  }
  return 'transient';
}

/** The code of an error of ours, else its message: what tells one trouble from another. */
export function codeOf(error: Error): string {
  return error instanceof SluiceError ? error.code : error.message;
}
