import { parseJson } from './json';
import { RecordError } from './record-error';

/**
 * One record a line; blank lines are left out. All or nothing: a line that won't do fails the payload, which stays whole
 * for whoever has to mend it. Throws RecordError with the line's number.
 */
export function parseNdjson(text: string): unknown[] {
  const records: unknown[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      records.push(parseJson(line));
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      throw new RecordError(error.code, `line ${index + 1}: ${error.message}`, { cause: error });
    }
  }
  if (records.length === 0)
    throw new RecordError('ERR_SLUICE_DECODE_SYNTAX', 'the payload holds no line of JSON');
  return records;
}
