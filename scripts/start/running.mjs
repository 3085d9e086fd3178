// Which npm start uses a user directory: a second Node-RED there would find its queue and inbox locked.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isFree } from '../node-red/ports.mjs';

/** A start that waits for npm doesn't listen yet. */
const STARTING_MS = 600_000;

/** @typedef {{ port: number, pids: readonly number[] }} Running */

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is alive, too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * The start that uses the directory now. One that was killed leaves its note behind, and its process id may be another's.
 * @param {string} note
 * @returns {Promise<Running | undefined>}
 */
export async function findRunning(note) {
  if (!existsSync(note)) return undefined;
  /** @type {Running} */
  let running;
  try {
    running = JSON.parse(readFileSync(note, 'utf8'));
  } catch {
    return undefined;
  }
  const pids = running.pids.filter(isAlive);
  if (pids.length === 0) return undefined;
  const isYoung = Date.now() - statSync(note).mtimeMs < STARTING_MS;
  return isYoung || !(await isFree(running.port)) ? { port: running.port, pids } : undefined;
}

/**
 * Notes who uses the directory.
 * @param {string} note
 * @param {number} port
 * @param {readonly number[]} pids this process, and Node-RED once it runs
 */
export function noteRunning(note, port, pids) {
  writeFileSync(note, `${JSON.stringify({ port, pids })}\n`);
}

/** @param {string} note */
export const forgetRunning = (note) => rmSync(note, { force: true });
