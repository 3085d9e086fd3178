/**
 * Deploys and shutdown. Closing nodes call `done()` for messages they only had in a buffer, and sends to a stopped
 * node vanish: both would look like success. So completions are parked while flows stop; of those, the ones of nodes
 * that didn't survive abort their attempt, as does anything still open in a stopped node, or sent to one.
 */
import type { EventEmitter } from 'node:events';
import type { FlowConfigNode, FlowsEvent, RuntimeNode } from '../../node-red/types';
import type { Attempt } from './attempt';
import type { Token } from './tokens';

interface Surroundings {
  readonly getNode: (id: string) => RuntimeNode | null;
  attempts(): Iterable<Attempt>;
  end(token: Token): void;
  abort(attempt: Attempt): void;
  /** These flows are about to run, or run. */
  known(flows: readonly FlowConfigNode[]): void;
}

export class DeployWindow {
  private phase: 'running' | 'stopping' | 'stopped' = 'running';
  private parked: Token[] = [];
  private readonly listeners: readonly (readonly [event: string, listener: (event: FlowsEvent) => void])[] = [
    ['flows:stopping', () => (this.phase = 'stopping')],
    ['flows:stopped', () => this.stopped()],
    ['flows:starting', ({ config }) => this.around.known(config.flows)],
    ['flows:started', ({ config }) => this.started(config.flows)],
  ];

  constructor(
    private readonly events: EventEmitter,
    private readonly around: Surroundings,
  ) {}

  /** How many completions are parked. */
  get size(): number {
    return this.parked.length;
  }

  /** From the moment flows begin to stop until they all run again. */
  get open(): boolean {
    return this.phase !== 'running';
  }

  watch(): void {
    for (const [event, listener] of this.listeners) this.events.on(event, listener);
  }

  unwatch(): void {
    for (const [event, listener] of this.listeners) this.events.removeListener(event, listener);
  }

  /** A node says that it has finished: counted at once, or when it is known which nodes survive. */
  finished(token: Token): void {
    if (this.phase === 'stopping') this.parked.push(token);
    else this.around.end(token);
  }

  survived(node: RuntimeNode): boolean {
    return this.around.getNode(node.id) === node;
  }

  private started(flows: readonly FlowConfigNode[]): void {
    this.phase = 'running';
    this.around.known(flows);
  }

  private stopped(): void {
    this.phase = 'stopped';
    const { parked, around } = this;
    this.parked = [];
    for (const token of parked) {
      if (this.survived(token.place.node)) around.end(token);
      else for (const owner of token.owners) around.abort(owner);
    }
    for (const attempt of [...around.attempts()]) {
      for (const token of attempt.tokens()) {
        if (this.survived(token.place.node)) continue;
        around.abort(attempt);
        break;
      }
    }
  }
}
