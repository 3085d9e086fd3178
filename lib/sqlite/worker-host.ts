/**
 * The main thread's half: starts the worker that owns a file, passes batches to it and starts it again when it dies.
 * Whatever was in flight then is rejected: nothing ever waits for a thread that is gone.
 */
import { Worker } from 'node:worker_threads';
import type { StoreError } from '../errors/errors';
import { faultOf, storeError, type Fault, type FaultCodes } from './faults';
import type { FromWorker, ToWorker } from './worker-loop';

const RESTART_FIRST_MS = 100;
const RESTART_MAX_MS = 30_000;
const CLOSE: ToWorker<never> = { close: true };

export interface WorkerHostOptions<Hello> {
  /** The worker's compiled script. */
  readonly script: string;
  /** The file it owns, for messages. */
  readonly file: string;
  readonly codes: FaultCodes;
  /** What the worker is started with; asked again at each start. */
  workerData(): unknown;
  /** Called at each start, before the first reply. */
  onHello(hello: Hello): void;
  /** Called when the worker is lost or can't be started, until `onHello`. */
  onFault(fault: StoreError): void;
}

interface Waiting<Reply> {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

export class WorkerHost<Batch, Hello, Reply> {
  readonly #options: WorkerHostOptions<Hello>;
  #worker: Worker | undefined;
  #waiting: Waiting<Reply>[] = [];
  #fault: StoreError;
  #closing = false;
  #retry: NodeJS.Timeout | undefined;
  #delayMs = RESTART_FIRST_MS;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: WorkerHostOptions<Hello>) {
    this.#options = options;
    this.#fault = this.#error({ kind: 'closed', detail: 'not started' });
  }

  /** Starts it for the first time. Rejects with StoreError when the file can't be opened; then it isn't tried again. */
  start(): Promise<void> {
    return this.#launch();
  }

  /** Rejects with StoreError at once while there is no worker. */
  request(batch: Batch, transfer: readonly ArrayBuffer[] = []): Promise<Reply> {
    const worker = this.#worker;
    if (!worker) return Promise.reject(this.#fault);
    const message: ToWorker<Batch> = { batch };
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage(message, transfer);
    });
  }

  /** Lets the worker finish what it was sent and starts a new one. What is sent meanwhile is rejected. */
  restart(): void {
    this.#worker?.postMessage(CLOSE);
  }

  /** Lets the worker finish what it was sent, close the file and end. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#retry);
    this.#worker?.postMessage(CLOSE);
    this.#worker = undefined;
    this.#fault = this.#error({ kind: 'closed', detail: '' });
    await this.#ended;
  }

  #error(fault: Fault): StoreError {
    return storeError(fault, this.#options.file, this.#options.codes);
  }

  #launch(): Promise<void> {
    const worker = new Worker(this.#options.script, { workerData: this.#options.workerData(), execArgv: [] });
    let died: Fault = { kind: 'worker', detail: '' };
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromWorker<Hello, Reply>) => {
        if ('replies' in message) this.#settle(message.replies);
        else if ('failed' in message) died = message.failed;
        else {
          if (this.#closing) worker.postMessage(CLOSE);
          else this.#worker = worker;
          this.#delayMs = RESTART_FIRST_MS;
          this.#options.onHello(message.hello);
          resolve();
        }
      });
      worker.on('error', (error) => (died = faultOf(error)));
      this.#ended = new Promise((ended) => {
        worker.on('exit', () => {
          const error = this.#error(died);
          this.#lost(worker, error);
          reject(error);
          ended();
        });
      });
    });
  }

  #settle(replies: readonly Reply[]): void {
    const served = this.#waiting.splice(0, replies.length);
    for (const [index, reply] of replies.entries()) served[index]?.resolve(reply);
  }

  #lost(worker: Worker, error: StoreError): void {
    const started = this.#worker === worker;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (started) this.#worker = undefined;
    if (!this.#closing) this.#fault = error;
    for (const { reject } of waiting) reject(error);
    if (this.#closing) return;
    if (started || this.#retry) this.#relaunch(error);
  }

  #relaunch(error: StoreError): void {
    this.#options.onFault(error);
    this.#retry = setTimeout(() => {
      if (!this.#closing) this.#launchAgain();
    }, this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, RESTART_MAX_MS);
  }

  /** Where no thread can be had at all, that is a fault like any other. */
  #launchAgain(): void {
    try {
      this.#launch().catch(() => undefined);
    } catch (cause) {
      this.#relaunch(this.#error(faultOf(cause)));
    }
  }
}
