/** What the command line's exit status tells scripts. */
export const EXIT = {
  ok: 0,
  /** The command ran, and what it checked isn't as it should be. */
  checkFailed: 1,
  /** Wrong usage, an unreadable file, no connection: the command couldn't run. */
  usage: 2,
} as const;

/** The command has said what isn't as it should be. */
export class CheckFailed extends Error {}
