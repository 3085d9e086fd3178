import type { WriteStream } from 'node:tty';

/** What is drawn on: stderr, so that the output can be piped. */
type Terminal = Pick<WriteStream, 'isTTY' | 'columns' | 'write'>;

export interface ProgressLine {
  show(done: number, total: number, text: string): void;
  /** Takes the line away. */
  end(): void;
}

const BAR_CHARS = 24;
const USUAL_COLUMNS = 80;
const REDRAW_MS = 100;
const CLEAR = '\r\u001b[2K';

function bar(done: number, total: number): string {
  const ratio = total > 0 ? Math.min(1, done / total) : 0;
  const filled = Math.floor(ratio * BAR_CHARS);
  const percent = `${Math.floor(ratio * 100)}`.padStart(3);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_CHARS - filled)}] ${percent} %`;
}

/** A bar that is redrawn in place. Silent where nobody looks: `out` is no terminal, or `quiet`, as with `--json`. */
export function progressLine(
  quiet: boolean,
  out: Terminal = process.stderr,
  now: () => number = () => performance.now(),
): ProgressLine {
  const isShown = out.isTTY && !quiet;
  let drawnAt = -Infinity;
  return {
    show(done, total, text) {
      if (!isShown || (done < total && now() - drawnAt < REDRAW_MS)) return;
      drawnAt = now();
      // One that wraps couldn't be redrawn. Some terminals say that they have 0 columns.
      const columns = out.columns || USUAL_COLUMNS;
      out.write(CLEAR + `${bar(done, total)} ${text}`.slice(0, columns - 1));
    },
    end() {
      if (isShown && drawnAt > -Infinity) out.write(CLEAR);
    },
  };
}
