import type { EventEmitter } from 'node:events';
import type { FlowsEvent } from './types';

/** A deploy that doesn't end, because a type is missing or a node can't be closed, must not keep files for ever. */
const LONGEST_MS = 30_000;

/**
 * Whether nodes are being closed because a deploy replaces them. Then what they share may stay open for those that come,
 * and nobody has to wait for files; at a shutdown everything must be closed at once.
 */
export class Deploys {
  #running: FlowsEvent['config'] | undefined;
  #underway: Promise<void> | undefined;
  #end: () => void = () => undefined;

  constructor(
    events: EventEmitter,
    private readonly longestMs = LONGEST_MS,
  ) {
    events.on('flows:stopping', ({ config }: FlowsEvent) => {
      // Node-RED puts the new flow in its place before it stops the old one; a shutdown leaves the one that ran.
      if (this.#running && config !== this.#running) this.#begin();
    });
    events.on('flows:started', ({ config }: FlowsEvent) => {
      this.#running = config;
      this.#end();
    });
  }

  /** While a deploy is under way: resolves once the new nodes are there, or it has taken too long. */
  get underway(): Promise<void> | undefined {
    return this.#underway;
  }

  #begin(): void {
    this.#end();
    this.#underway = new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(), this.longestMs).unref();
      this.#end = () => {
        clearTimeout(timer);
        this.#underway = undefined;
        this.#end = () => undefined;
        resolve();
      };
    });
  }
}
