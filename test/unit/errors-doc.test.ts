import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '#lib/errors/codes';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/errors.md'), 'utf8');
const rows = page
  .split('\n')
  .map((line) => /^\| `(ERR_SLUICE_\w+)`\s*\| (.+?)\s*\| (.+?)\s*\|$/.exec(line))
  .filter((match) => match !== null);
const documented = rows.map(([, code]) => code);

describe('docs/errors.md', () => {
  it('has a row for each error code, and no row without a code', () => {
    expect(documented.toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted());
  });

  it('says in each row what happened and what to do', () => {
    for (const [, code, meaning, advice] of rows) {
      expect(meaning?.trim(), `meaning of ${code}`).toMatch(/\S.*\.$/);
      expect(advice?.trim(), `advice for ${code}`).toMatch(/\S.*\.$/);
    }
  });

  it('names codes by area and condition, with a short meaning in the table of codes', () => {
    for (const [code, meaning] of Object.entries(ERROR_CODES)) {
      expect(code).toMatch(/^ERR_SLUICE(_[A-Z0-9]+){2,}$/);
      expect(meaning.length, code).toBeGreaterThan(10);
    }
  });
});
