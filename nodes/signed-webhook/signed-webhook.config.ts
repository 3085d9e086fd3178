import { choice, number, text, type Conflict, type Credentials, type Fields } from '#lib/config/fields';
import {
  httpSourceFields,
  httpSourceProblems,
  PATH_SEGMENT,
  type HttpSourceConfig,
} from '#lib/config/http-source';

export const SCHEMES = ['standard', 'github', 'stripe', 'slack', 'shopify', 'generic'] as const;
export type Scheme = (typeof SCHEMES)[number];

/** How a sender of one's own signs; read only with the scheme `generic`. */
export interface GenericSchemeConfig {
  /** Name of the header that carries the signature. */
  header: string;
  algorithm: 'sha1' | 'sha256' | 'sha512';
  encoding: 'hex' | 'base64';
  /** Text before the signature in its header, e.g. `sha256=`. */
  prefix: string;
  /** What is signed: `{body}`, and `{timestamp}` where there is one. */
  template: string;
  /** Name of the header with the time of sending; empty: none, and no protection against late replays. */
  timestampHeader: string;
  timestampUnit: 's' | 'ms';
  /** Name of the header with the sender's id of the request; empty: signature and timestamp stand in for it. */
  idHeader: string;
  secretEncoding: 'utf8' | 'base64' | 'hex';
}

export interface SignedWebhookConfig extends HttpSourceConfig, GenericSchemeConfig {
  name: string;
  /** Last segment of `/api/hooks/{hook}`. */
  hook: string;
  scheme: Scheme;
  /** Largest difference between the sender's clock and ours, either way. */
  toleranceSecs: number;
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

export const fields: Fields<SignedWebhookConfig> = {
  name: text(),
  hook: text('', { required: true, pattern: PATH_SEGMENT }),
  scheme: choice('standard', SCHEMES),
  toleranceSecs: number(300, { min: 1, max: 86_400 }),
  header: text('', { pattern: HEADER_NAME }),
  algorithm: choice('sha256', ['sha1', 'sha256', 'sha512']),
  encoding: choice('hex', ['hex', 'base64']),
  prefix: text(),
  template: text('{body}'),
  timestampHeader: text('', { pattern: HEADER_NAME }),
  timestampUnit: choice('s', ['s', 'ms']),
  idHeader: text('', { pattern: HEADER_NAME }),
  secretEncoding: choice('utf8', ['utf8', 'base64', 'hex']),
  ...httpSourceFields,
};

/** `previousSecret` stays valid beside `secret` while the sender changes over. */
export const credentials: Credentials<'secret' | 'previousSecret'> = {
  secret: { type: 'password' },
  previousSecret: { type: 'password' },
};

/** Rules over several properties; the runtime refuses to start on one, the form marks it. */
export function problemsOf(config: SignedWebhookConfig): Conflict<SignedWebhookConfig>[] {
  const problems: Conflict<SignedWebhookConfig>[] = [...httpSourceProblems(config)];
  if (config.scheme !== 'generic') return problems;
  if (config.header === '') {
    problems.push({
      property: 'header',
      key: 'genericNeedsHeader',
      text: 'is required with scheme "generic": the name of the header that carries the signature',
    });
  }
  if (!config.template.includes('{body}')) {
    problems.push({
      property: 'template',
      key: 'templateNeedsBody',
      text: 'must contain {body}, else the signature would not cover the content',
    });
  }
  if (config.template.includes('{timestamp}') && config.timestampHeader === '') {
    problems.push({
      property: 'timestampHeader',
      key: 'templateNeedsTimestampHeader',
      text: 'is required when the template contains {timestamp}',
    });
  }
  return problems;
}
