import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of this package, from its own package.json. */
export function packageVersion(): string {
  const manifest = readFileSync(join(__dirname, '../../../package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
