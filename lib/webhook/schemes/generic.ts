/** A scheme put together from a node's properties, for senders of one's own. */
import { ConfigError } from '../../errors/errors';
import { HMAC_ALGORITHMS, type HmacAlgorithm, type SchemeConfig } from '../contract';
import { requiredValue, requiredValues, singleValue } from '../raw-headers';
import type { Claim, Scheme, SigningRequest } from '../scheme';
import { encodedSecret, textSecret } from '../secrets';
import { checkedId } from '../sender-id';
import { SignatureError } from '../signature-error';
import { decodeSignatures } from '../signature-values';
import { parseTemplate, type SigningTemplate } from '../signing-template';
import { parseTimestampSecs } from '../timestamp';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function invalid(message: string): ConfigError {
  return new ConfigError('ERR_SLUICE_WEBHOOK_SCHEME_INVALID', message);
}

function headerName(name: string | undefined, property: string): string | undefined {
  if (name === undefined || name === '') return undefined;
  if (!HEADER_NAME.test(name)) throw invalid(`${property} is not the name of a header.`);
  return name.toLowerCase();
}

function checkTemplate(
  template: SigningTemplate,
  timestampHeader: string | undefined,
  idHeader: string | undefined,
): void {
  if (template.usesTimestamp && !timestampHeader) throw invalid('{timestamp} needs a timestampHeader.');
  if (template.usesId && !idHeader) throw invalid('{id} needs an idHeader.');
  if (timestampHeader && !template.usesTimestamp) {
    throw invalid('timestampHeader is set, but {timestamp} is not signed: anyone could refresh it.');
  }
}

export function makeGeneric(config: SchemeConfig): Scheme {
  const { encoding = 'hex', prefix = '', timestampUnit = 's', secretEncoding = 'utf8' } = config;
  const algorithm: HmacAlgorithm = config.algorithm ?? 'sha256';
  if (!HMAC_ALGORITHMS.includes(algorithm))
    throw invalid(`algorithm must be one of ${HMAC_ALGORITHMS.join(', ')}.`);
  const header = headerName(config.header, 'header');
  if (!header) throw invalid('The generic scheme needs the name of the header with the signature.');
  const timestampHeader = headerName(config.timestampHeader, 'timestampHeader');
  const idHeader = headerName(config.idHeader, 'idHeader');
  const template = parseTemplate(config.template ?? '{body}');
  checkTemplate(template, timestampHeader, idHeader);
  const format = { header, prefix, encoding, algorithm };

  function readId(rawHeaders: readonly string[]): string | undefined {
    if (!idHeader) return undefined;
    const id = template.usesId ? requiredValue(rawHeaders, idHeader) : singleValue(rawHeaders, idHeader);
    if (template.usesId && [...template.idTerminators].some((character) => id?.includes(character))) {
      throw new SignatureError(
        'malformed_header',
        `The ${idHeader} header contains the template's separator.`,
      );
    }
    return checkedId(id, idHeader);
  }

  return {
    algorithm,
    keyOf: (secret) =>
      secretEncoding === 'utf8' ? textSecret(secret) : encodedSecret(secret, secretEncoding),
    read(rawHeaders): Claim {
      const values = requiredValues(rawHeaders, header);
      const timestampText = timestampHeader ? requiredValue(rawHeaders, timestampHeader) : '';
      const id = readId(rawHeaders);
      return {
        ...(timestampHeader && {
          timestampSecs: parseTimestampSecs(timestampText, timestampHeader, timestampUnit),
          timestampText,
        }),
        signatures: decodeSignatures(values, format),
        before: template.before(timestampText, id ?? ''),
        after: template.after(timestampText, id ?? ''),
        id,
      };
    },
    headers({ id, nowSecs }: SigningRequest, mac) {
      const timestamp = String(Math.floor(timestampUnit === 'ms' ? nowSecs * 1000 : nowSecs));
      const signature = mac(template.before(timestamp, id), template.after(timestamp, id));
      return {
        ...(timestampHeader && { [timestampHeader]: timestamp }),
        ...(idHeader && { [idHeader]: id }),
        [header]: prefix + signature.toString(encoding),
      };
    },
  };
}
