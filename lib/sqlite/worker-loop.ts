/**
 * The worker thread's half: takes everything that waits, hands it to the owner of the file as one group, so that one
 * `fsync` serves them all, and answers each batch in the order they came.
 */
import { parentPort, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { faultOf, type Fault } from './faults';

/** Limits the memory and the latency of one group; the rest waits for the next. */
const MAX_GROUP = 512;
const IDLE_MS = 250;

export interface Answer<Reply> {
  readonly reply: Reply;
  readonly transfer?: readonly ArrayBuffer[];
}

export interface FileOwner<Batch, Hello, Reply> {
  /** What the main thread must know before its first batch, and when the file was replaced while nothing waited. */
  readonly hello: Hello;
  /** Commits the batches as one group; one answer for each. What it throws ends the worker. */
  run(batches: readonly Batch[]): readonly Answer<Reply>[];
  /** Upkeep while nothing waits. True asks for another turn, `renewed` has the main thread told `hello` again. */
  idle(): boolean | 'renewed';
  close(): void;
}

export type ToWorker<Batch> = { readonly batch: Batch } | { readonly close: true };

export type FromWorker<Hello, Reply> =
  { readonly hello: Hello } | { readonly failed: Fault } | { readonly replies: readonly Reply[] };

/** Opens the file and serves the thread that started this one until it says to close. */
export function serve<Batch, Hello, Reply>(open: () => FileOwner<Batch, Hello, Reply>): void {
  const port = parentPort;
  if (!port) throw new Error('this file runs as a worker thread');
  const post = (message: FromWorker<Hello, Reply>, transfer: readonly ArrayBuffer[] = []) =>
    port.postMessage(message, transfer);
  let owner: FileOwner<Batch, Hello, Reply>;
  try {
    owner = open();
  } catch (error) {
    post({ failed: faultOf(error) });
    return;
  }
  let idle: NodeJS.Timeout | undefined;
  const upkeep = () => {
    const more = owner.idle();
    if (more === 'renewed') post({ hello: owner.hello });
    idle = more ? setTimeout(upkeep, 0) : undefined;
  };
  port.on('message', (first: ToWorker<Batch>) => {
    clearTimeout(idle);
    const { batches, closing } = gather(port, first);
    if (batches.length > 0) {
      const answers = owner.run(batches);
      const replies = answers.map(({ reply }) => reply);
      post(
        { replies },
        answers.flatMap(({ transfer = [] }) => transfer),
      );
    }
    if (closing) {
      owner.close();
      port.close();
    } else idle = setTimeout(upkeep, IDLE_MS);
  });
  post({ hello: owner.hello });
  idle = setTimeout(upkeep, IDLE_MS);
}

function gather<Batch>(port: MessagePort, first: ToWorker<Batch>) {
  const batches: Batch[] = [];
  let message: ToWorker<Batch> | undefined = first;
  while (message !== undefined) {
    if ('close' in message) return { batches, closing: true };
    batches.push(message.batch);
    if (batches.length === MAX_GROUP) break;
    const received: { message: ToWorker<Batch> } | undefined = receiveMessageOnPort(port);
    message = received?.message;
  }
  return { batches, closing: false };
}
