import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates {
  /** The private CA's certificate. */
  readonly ca: string;
  readonly server: { readonly key: string; readonly cert: string };
  readonly client: { readonly key: string; readonly cert: string };
}

/** A private CA, a server certificate for localhost and a client certificate, made with openssl for this run. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-ca-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const signed = (name: string, ...extension: string[]) => {
    const request = [
      'req',
      ...newKey,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
    ];
    openssl(...request, ...extension);
    const ca = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...ca,
      '-days',
      '2',
      '-copy_extensions',
      'copy',
      '-out',
      `${name}.crt`,
    );
    return { key: read(`${name}.key`), cert: read(`${name}.crt`) };
  };
  try {
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-days',
      '2',
      '-subj',
      '/CN=Test CA',
    );
    const server = signed('localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
    return { ca: read('ca.crt'), server, client: signed('client') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
