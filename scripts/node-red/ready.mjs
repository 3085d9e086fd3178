// When Sluice in a Node-RED works: its flows run and its files are open, or it is known why they aren't.
import { setTimeout as delay } from 'node:timers/promises';

const READY_MS = 15_000;

/**
 * @typedef {object} Member of the status document's sinks and sources
 * @property {string} name
 * @property {string} [state]
 * @property {string | null} [fault] an error code
 *
 * @typedef {{ ready?: boolean, sinks?: readonly Member[], sources?: readonly Member[] }} Status
 */

/** @param {Status} status */
const membersOf = ({ sinks = [], sources = [] }) => [...sinks, ...sources];

/** A queue's fault until its file is open; it passes by itself. */
const OPENING = 'ERR_SLUICE_QUEUE_OPENING';

/**
 * What can't work, as `name: code`, each once.
 * @param {Status} status
 */
export function faultsOf(status) {
  const faulty = membersOf(status).filter(({ fault }) => fault && fault !== OPENING);
  return [...new Set(faulty.map(({ name, fault }) => `${name}: ${fault}`))];
}

/** @param {Status} status */
const isSettled = (status) =>
  status.ready === true &&
  membersOf(status).every(({ state, fault }) => state !== 'opening' && fault !== OPENING);

/**
 * A deploy is answered before its flows run, and those run before the files are open.
 * @param {string} url of Node-RED
 * @returns {Promise<readonly string[]>} what can't work, see `faultsOf`
 */
export async function untilReady(url) {
  const deadline = performance.now() + READY_MS;
  /** @type {Status} */
  let status = {};
  while (performance.now() < deadline) {
    const answer = await fetch(`${url}/sluice/api/status`);
    status = answer.ok ? /** @type {Status} */ (await answer.json()) : {};
    if (isSettled(status)) return faultsOf(status);
    await delay(50);
  }
  if (status.ready) return faultsOf(status);
  throw new Error(`Sluice is not ready ${READY_MS / 1000} s after Node-RED started.`);
}
