// A line that redraws itself on a terminal; elsewhere a line from time to time.
const QUIET_MS = 2_000;

/** @param {NodeJS.WriteStream} [out] */
export function makeProgress(out = process.stdout) {
  let shownAt = 0;
  const clear = () => {
    if (out.isTTY) out.write('\r\u001b[2K');
  };
  return {
    /** @param {string} line */
    show: (line) => {
      if (out.isTTY) {
        clear();
        out.write(line);
      } else if (performance.now() - shownAt > QUIET_MS) {
        shownAt = performance.now();
        out.write(`${line}\n`);
      }
    },
    /** A lasting line above the moving one. @param {string} line */
    say: (line) => {
      clear();
      out.write(`${line}\n`);
    },
  };
}
