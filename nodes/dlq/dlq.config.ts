import { choice, flag, number, text, type Fields } from '#lib/config/fields';

export interface DlqConfig {
  name: string;
  /** What becomes of a record of this tab that fails for good; a tab without a dlq node only counts it. */
  onError: 'drop' | 'dlq' | 'halt';
  /** Failures kept in memory for the tab's listing; the oldest gives way. */
  bufferCapacity: number;
  /** Off: neither what came in nor the record is kept, so it can't be replayed. */
  includeRawPayload: boolean;
  /** Dead letters on disk, of all tabs together; the largest of all dlq nodes counts. */
  maxRows: number;
  /** In units of 1024 * 1024 bytes, likewise. */
  maxMb: number;
}

export const fields: Fields<DlqConfig> = {
  name: text(),
  onError: choice('dlq', ['drop', 'dlq', 'halt']),
  bufferCapacity: number(100, { min: 1, max: 10_000 }),
  includeRawPayload: flag(true),
  maxRows: number(100_000, { min: 1, max: 10_000_000 }),
  maxMb: number(1000, { min: 1 }),
};
