/**
 * Damage in a write-ahead log that SQLite itself passes over. It takes a log up to the first frame whose checksum fails
 * and drops the rest without a word, because a crash may have torn the end; and it deletes the log of a database that
 * has become empty. Both would be silent losses of commits that were acknowledged.
 *
 * What no crash can explain is damage: each commit is synced before the next is written, so at most one can be torn;
 * and the index beside the log counts a commit only after its sync.
 */
import { closeSync, openSync, statSync, truncateSync } from 'node:fs';
import { LOG_HEADER_BYTES, LogFile, readLogIndex } from './log-format';

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
const hasFrames = (file: string) => sizeOf(`${file}-wal`) > LOG_HEADER_BYTES;

/** What is wrong with the log of a database that nobody has open; undefined when nothing is. Only reads. */
export function logDamage(file: string, pageBytes: number): string | undefined {
  const index = readLogIndex(`${file}-shm`);
  const mustHave = index && index.committed > index.backfilled ? index.committed : 0;
  if (!hasFrames(file)) return mustHave > 0 ? `${mustHave} pages are missing from its log` : undefined;
  if (sizeOf(file) === 0) return 'it is empty, and its log is not';
  return withLog(file, pageBytes, 'r', (log) => {
    const isWhole = log.chain();
    let committed = 0;
    let commitsLost = 0;
    for (const frame of log.frames()) {
      const whole = isWhole(frame);
      if (!frame.isCommit || !frame.isCurrent) continue;
      if (whole) committed = frame.number;
      else commitsLost += 1;
    }
    const knowsMore = index?.salt === log.salt && mustHave > committed;
    return commitsLost > 1 || knowsMore ? `its log is damaged after page ${committed}` : undefined;
  });
}

/** For a file that was set aside: has SQLite read what isn't damaged of its log, so that it can be saved. */
export function uncoverLog(file: string, pageBytes: number): void {
  if (!hasFrames(file)) return;
  if (sizeOf(file) === 0) {
    closeSync(openSync(file, 'a'));
    truncateSync(file, pageBytes);
  }
  withLog(file, pageBytes, 'r+', (log) => {
    let last = 0;
    for (const { number, isCurrent } of log.frames()) if (isCurrent) last = number;
    log.mend(last);
  });
}

function withLog<Result>(
  file: string,
  pageBytes: number,
  flags: 'r' | 'r+',
  use: (log: LogFile) => Result,
): Result {
  const fd = openSync(`${file}-wal`, flags);
  try {
    return use(new LogFile(fd, pageBytes));
  } finally {
    closeSync(fd);
  }
}
