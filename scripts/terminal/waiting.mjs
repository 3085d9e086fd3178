// Says what takes so long, and for how long already: a line that turns on a terminal, a line each 15 s elsewhere.
import { makeProgress } from './progress.mjs';

const FRAMES = ['|', '/', '-', '\\'];
const TURN_MS = 150;
const QUIET_MS = 15_000;

/**
 * @param {string} text what is being done
 * @param {NodeJS.WriteStream} [out]
 */
export function startWaiting(text, out = process.stdout) {
  const progress = makeProgress(out, QUIET_MS);
  const startedAt = performance.now();
  let now = text;
  let turns = 0;
  const seconds = () => Math.round((performance.now() - startedAt) / 1000);
  if (!out.isTTY) progress.say(`${now} …`);
  const turning = setInterval(
    () => {
      const frame = out.isTTY ? `${FRAMES[turns++ % FRAMES.length]} ` : '  ';
      progress.show(`${frame}${now} … ${seconds()} s`);
    },
    out.isTTY ? TURN_MS : QUIET_MS,
  );
  return {
    /** The next thing that takes its time. @param {string} text */
    goOn(text) {
      if (text === now) return;
      now = text;
      if (!out.isTTY) progress.say(`  ${now} … ${seconds()} s`);
    },
    /** A lasting line. @param {string} line */
    say: (line) => progress.say(line),
    /** Ends it; the line goes. Returns how many seconds it took. */
    end() {
      clearInterval(turning);
      progress.clear();
      return seconds();
    },
  };
}
