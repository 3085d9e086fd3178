/** @typedef {(text: string) => string} Paint */

/** @param {number} on @param {number} off @returns {Paint} */
const ansi = (on, off) => (text) => `\u001b[${on}m${text}\u001b[${off}m`;
/** @type {Paint} */
const plain = (text) => text;

/**
 * A little colour for a terminal; none elsewhere, or where NO_COLOR asks for none (https://no-color.org).
 * @param {{ isTTY?: boolean }} [out]
 * @param {NodeJS.ProcessEnv} [env]
 */
export function colours(out = process.stdout, env = process.env) {
  const isColoured = Boolean(out.isTTY) && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return {
    bold: isColoured ? ansi(1, 22) : plain,
    dim: isColoured ? ansi(2, 22) : plain,
    green: isColoured ? ansi(32, 39) : plain,
    red: isColoured ? ansi(31, 39) : plain,
    cyan: isColoured ? ansi(36, 39) : plain,
  };
}
