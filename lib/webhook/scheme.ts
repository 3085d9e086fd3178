import type { HmacAlgorithm } from './contract';

/** What a request claims: signatures in bytes, and the text that was signed around the body. */
export interface Claim {
  /** Well-formed signatures of the kind this scheme accepts; one match is enough. */
  readonly signatures: readonly Buffer[];
  /** Signed before and after the body. Latin-1, as node decodes headers, so that the sender's bytes come back. */
  readonly before: string;
  readonly after: string;
  readonly timestampSecs?: number;
  /** As the sender wrote it, for the id of a request that has none of its own. */
  readonly timestampText?: string;
  /** The sender's id, where a header carries it. */
  readonly id?: string | undefined;
}

export interface SigningRequest {
  readonly body: Uint8Array;
  readonly id: string;
  readonly nowSecs: number;
}

/** One signature scheme: how a request is read and, for our own tools, how one is signed. */
export interface Scheme {
  readonly algorithm: HmacAlgorithm;
  /** Key bytes of a secret that isn't blank. Throws ConfigError. */
  keyOf(secret: string): Buffer;
  /** Throws SignatureError for a missing or malformed header. */
  read(rawHeaders: readonly string[]): Claim;
  /** The sender's id where the body carries it; called after the signature was checked. */
  bodyId?(body: Uint8Array): string | undefined;
  /** Headers of a signed request; `mac` signs the text around the body. */
  headers(
    request: SigningRequest,
    mac: (before: string, after: string) => Buffer,
  ): Readonly<Record<string, string>>;
}
