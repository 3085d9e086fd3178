// The demo's destination, a process of its own so that it can be killed: notes each order in a file, then confirms it.
//   node destination.mjs PORT FILE
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file = ''] = process.argv.slice(2);

createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (/** @type {string} */ text) => (body += text));
  request.on('end', () => {
    appendFileSync(file, `${JSON.parse(body).order}\n`);
    response.end();
  });
}).listen(Number(port), '127.0.0.1', () => process.send?.('ready'));
