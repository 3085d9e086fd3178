import type { ErrorCode } from './codes';
import type { Stage } from './stages';

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

  /** What Node-RED writes into its log: with the code, by which docs/errors.md tells what to do. */
  override toString(): string {
    return `${this.code}: ${this.message}`;
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

interface StageErrorOptions extends ErrorOptionsWithCause {
  stage: Stage;
  /** The record as it was before the stage that failed. */
  tuple?: unknown;
  /** What came in, where the stage still has it as bytes. */
  raw?: Uint8Array;
}

/** A record that can never pass one of the processing stages: permanent, it belongs to the dead letters. */
export class StageError extends SluiceError {
  readonly failure = 'permanent';
  readonly stage: Stage;
  readonly tuple: unknown;
  readonly raw: Uint8Array | undefined;

  constructor(code: ErrorCode, message: string, options: StageErrorOptions) {
    super(code, message, options);
    this.stage = options.stage;
    this.tuple = options.tuple;
    this.raw = options.raw;
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

/** Milliseconds that a destination asked to wait, if it did. By shape: a second copy of this package has its own classes. */
export function retryAfterOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('retryAfterMs' in error)) return undefined;
  const { retryAfterMs } = error;
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : undefined;
}

/** The code of an error of this package, by shape, too. */
export function ownCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const { code } = error;
  return typeof code === 'string' && code.startsWith('ERR_SLUICE_') ? code : undefined;
}

/** The code of an error of ours, else its message: what tells one trouble from another. */
export function codeOf(error: Error): string {
  return ownCodeOf(error) ?? error.message;
}
