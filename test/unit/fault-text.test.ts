import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode } from '#lib/errors/codes';
import { ConfigError } from '#lib/errors/errors';
import { faultText } from '#lib/node-red/fault-text';

const path = join(import.meta.dirname, '../../lib/editor/locales/en-US.json');
const { fault: words } = JSON.parse(readFileSync(path, 'utf8')) as { fault: Record<string, string> };
const translate = (key: string) => words[key.replace(/^sluice\.fault\./, '')] ?? key;
const failed = (code: ErrorCode) => new ConfigError(code, 'why');

/** Of one request or one command: these never become a node's status. */
const NEVER_SHOWN =
  /^ERR_SLUICE_(API|BODY|CLI|FLOW|KEY|LETTER|RECORD)_|^ERR_SLUICE_(HTTP_RAW_BODY|INGEST_TOKEN|SOURCE_UNKNOWN|RULE_UNKNOWN|RULE_AMBIGUOUS|LEDGER_UNBALANCED|INGEST_ID_MISSING|INBOX_CRASHES|DELIVERY_FAILED)$|^ERR_SLUICE_WEBHOOK_(BAD|MISSING|MALFORMED|STALE)_|^ERR_SLUICE_QUEUE_(CRASHES|REJECTED|ATTEMPTS_SPENT|OUTCOME_UNKNOWN|UNKNOWN)$/;

describe('faultText', () => {
  it('shows words for every code that can be a status, at most 20 characters of them', () => {
    const shown = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => !NEVER_SHOWN.test(code));
    expect(shown.filter((code) => words[code.replace('ERR_SLUICE_', '')] === undefined)).toEqual([]);
    expect(Object.values(words).filter((text) => text.length > 20 || text === '')).toEqual([]);
  });

  it('has no words for a code that does not exist', () => {
    expect(Object.keys(words).filter((name) => !(`ERR_SLUICE_${name}` in ERROR_CODES))).toEqual([]);
  });

  it('takes the words of the locale, the code where there are none, the message of an error of others', () => {
    expect(faultText(translate, failed('ERR_SLUICE_WEBHOOK_SECRET_MISSING'))).toBe('no secret');
    expect(faultText((key) => key, failed('ERR_SLUICE_REST_TLS'))).toBe('REST_TLS');
    expect(faultText(translate, new Error('something else went wrong'))).toBe('something else went ');
    expect(faultText(translate, Object.assign(new Error('no such file'), { code: 'ENOENT' }))).toBe(
      'no such file',
    );
    expect(faultText(translate, 'a text that is far too long')).toBe('a text that is far t');
  });

  it('knows an error that another copy of the package made', () => {
    const foreign = Object.assign(new Error('x'), { code: 'ERR_SLUICE_CONFIG_INVALID' });
    expect(faultText(translate, foreign)).toBe('check the settings');
  });
});
