/** Senders as they should be: each repeats its record until it is told that it was accepted. */
import { connect } from 'node:net';
import { toWire } from '../http/load.mjs';
import { SOURCE, TOKEN } from './flow.mjs';

const RETRY_MS = 50;
const ANSWER = /^HTTP\/1\.1 (\d+)[\s\S]*?\r\ncontent-length: (\d+)[\s\S]*?\r\n\r\n/i;
const PADDING = 'x'.repeat(400);

export interface Senders {
  /** Records answered 200. */
  accepted(): number;
  acceptedRecords(): readonly number[];
  /** Times that a sender was told to come back. */
  refused(): number;
  /** No new records; resolves when the ones under way are accepted. */
  stop(): Promise<void>;
}

export function startSenders(port: number, connections: number): Senders {
  const accepted: number[] = [];
  let refused = 0;
  let nextRecord = 0;
  let isOpen = true;

  const sender = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.setNoDelay(true);
      let record = -1;
      let pending = '';
      const send = () => {
        const body = Buffer.from(JSON.stringify({ n: record, PADDING }));
        const headers = { authorization: `Bearer ${TOKEN}` };
        socket.write(toWire({ path: `/api/ingest/${SOURCE}/${record}`, headers, body }));
      };
      const sendNext = () => {
        if (!isOpen) {
          socket.destroy();
          return resolve();
        }
        record = nextRecord;
        nextRecord += 1;
        send();
      };
      socket.on('connect', sendNext);
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        pending += chunk.toString('latin1');
        const answer = ANSWER.exec(pending);
        if (!answer || pending.length < answer[0].length + Number(answer[2])) return;
        pending = '';
        const status = Number(answer[1]);
        if (status === 200) {
          accepted.push(record);
          return sendNext();
        }
        if (status !== 503) return reject(new Error(`record ${record} was answered ${status}`));
        refused += 1;
        setTimeout(send, RETRY_MS);
      });
    });

  const senders = Promise.all(Array.from({ length: connections }, sender));
  return {
    accepted: () => accepted.length,
    acceptedRecords: () => accepted,
    refused: () => refused,
    async stop() {
      isOpen = false;
      await senders;
    },
  };
}
