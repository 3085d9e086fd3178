/** Signed webhooks: what a scheme is configured with and what a verifier answers. Pure; the clock comes with the request. */

export const SCHEME_NAMES = ['standard', 'github', 'stripe', 'slack', 'shopify', 'generic'] as const;
export type SchemeName = (typeof SCHEME_NAMES)[number];

export const HMAC_ALGORITHMS = ['sha256', 'sha384', 'sha512', 'sha1'] as const;
export type HmacAlgorithm = (typeof HMAC_ALGORITHMS)[number];

/** The saved properties of `signed-webhook` that concern the signature, with its two credentials. */
export interface SchemeConfig {
  readonly scheme: SchemeName;
  readonly secret: string | undefined;
  /** Still accepted while a sender is moved to `secret`. Blank = none. */
  readonly previousSecret?: string | undefined;
  /** How far a signed timestamp may lie in the past or in the future, the bound included. Default 300. */
  readonly toleranceSecs?: number;
  /** The properties below belong to the `generic` scheme. */
  readonly header?: string;
  readonly algorithm?: HmacAlgorithm;
  readonly encoding?: 'hex' | 'base64';
  readonly prefix?: string;
  /** What is signed: text around `{body}` (once), `{timestamp}` and `{id}`. */
  readonly template?: string;
  readonly timestampHeader?: string;
  readonly timestampUnit?: 's' | 'ms';
  readonly idHeader?: string;
  readonly secretEncoding?: 'utf8' | 'base64' | 'hex';
}

export interface VerifyRequest {
  /** `IncomingMessage.rawHeaders`: name, value, name, value…; a header that was sent twice is in it twice. */
  readonly rawHeaders: readonly string[];
  /** The bytes as received, before any decoding. */
  readonly body: Uint8Array;
  readonly nowSecs: number;
}

export interface Verified {
  /** Identity for deduplication within a source: the sender's own id, else one made of signature and timestamp. */
  readonly id: string;
  /** Whether the id is the sender's. One made of the signature is the same for equal bodies (and equal timestamps). */
  readonly idFrom: 'sender' | 'signature';
  /** Unix seconds as signed by the sender, for schemes that sign one. */
  readonly timestampSecs?: number;
}

export interface Verifier {
  /** Throws SignatureError; never anything else, whatever the request holds. */
  verify(request: VerifyRequest): Verified;
}

export type RefusalReason = 'bad_signature' | 'missing_header' | 'malformed_header' | 'stale_timestamp';
