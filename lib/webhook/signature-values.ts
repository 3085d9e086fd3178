import { digestBytes } from './mac';
import type { HmacAlgorithm } from './contract';
import { SignatureError } from './signature-error';
import { STRICT_DECODERS } from './strict-decode';

interface SignatureFormat {
  readonly header: string;
  readonly prefix: string;
  readonly encoding: 'hex' | 'base64';
  readonly algorithm: HmacAlgorithm;
}

/** Decoded signatures of the right length. Malformed ones are passed over as long as a well-formed one is left. */
export function decodeSignatures(values: readonly string[], format: SignatureFormat): Buffer[] {
  const { header, prefix, encoding, algorithm } = format;
  const decode = STRICT_DECODERS[encoding];
  const bytes = digestBytes(algorithm);
  const signatures: Buffer[] = [];
  for (const value of values) {
    if (!value.startsWith(prefix)) continue;
    const signature = decode(prefix === '' ? value : value.slice(prefix.length));
    if (signature?.length === bytes) signatures.push(signature);
  }
  if (signatures.length === 0) {
    throw new SignatureError(
      'malformed_header',
      `The ${header} header is not ${prefix === '' ? '' : `"${prefix}" and `}${bytes} bytes in ${encoding}.`,
    );
  }
  return signatures;
}
