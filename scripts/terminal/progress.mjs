// A line that redraws itself on a terminal; elsewhere a line from time to time.

/**
 * @param {NodeJS.WriteStream} [out]
 * @param {number} [quietMs] least time between two lines where nothing can be redrawn
 */
export function makeProgress(out = process.stdout, quietMs = 2_000) {
  let shownAt = Number.NEGATIVE_INFINITY;
  const clear = () => {
    if (out.isTTY) out.write('\r\u001b[2K');
  };
  return {
    clear,
    /** @param {string} line */
    show: (line) => {
      if (out.isTTY) {
        clear();
        out.write(line);
      } else if (performance.now() - shownAt >= quietMs) {
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
