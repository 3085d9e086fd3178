import { describe, expect, it } from 'vitest';
import { sendsLater } from '#lib/flow-graph/function-code';

describe('function code that has sent everything when it ends', () => {
  it.each([
    ['returns', 'return msg;'],
    ['sends at once', 'node.send(msg);\nreturn null;'],
    ['sends in a loop', 'for (const m of msg.payload) { node.send({ ...msg, payload: m }); }'],
    ['sends in a forEach callback', 'msg.payload.forEach(function (p) { node.send({ payload: p }); });'],
    ['sends in nested iteration', 'a.forEach(x => x.filter(y => y.ok).map(y => node.send(y)));'],
    ['hands send itself to forEach', 'msg.payload.forEach(node.send);'],
    ['says itself when it is done', 'setTimeout(() => { node.send(msg); node.done(); }, 10);'],
    ['awaits first', 'const r = await load(msg);\nnode.send(r);'],
    ['awaits a promise chain', 'await load(msg).then((r) => { node.send(r); });'],
    [
      'awaits a promise chain, result kept',
      'const n = await load(msg).then((r) => node.send(r)).catch(() => 0);',
    ],
    ['returns a promise chain', 'return load(msg)\n  .then(r => {\n    node.send(r);\n  });'],
    [
      'awaits a timer in a promise',
      'await new Promise((ok) => setTimeout(() => { node.send(msg); ok(); }, 5));',
    ],
    ['awaits all', 'await Promise.all(msg.payload.map(async (p) => { node.send(await load(p)); }));'],
    ['sends from a promise executor', 'new Promise((ok) => { node.send(msg); ok(); });'],
    ['calls its own function', 'function emit(m) { node.send(m); }\nemit(msg);'],
    ['calls its own arrow function', 'const emit = (m) => node.send(m)\nemit(msg)\nreturn null'],
    ['awaits its own async function', 'async function run() { node.send(await x()); }\nawait run();'],
    ['calls a function on the spot', '(function () { node.send(msg); })();'],
    ['awaits an async function on the spot', 'await (async () => { node.send(await x()); })();'],
    ['never calls the function', 'function unused() { node.send(msg); }\nreturn msg;'],
    ['sends in recursion', 'function walk(n) { node.send(n); if (n.next) walk(n.next); }\nwalk(msg);'],
    [
      'only mentions it in a comment',
      '// setTimeout(() => node.send(msg))\nreturn msg; /* .then(node.send) */',
    ],
    ['only mentions it in a string', 'msg.payload = "setTimeout(() => node.send(msg), 1)"; return msg;'],
    [
      'has brackets in literals',
      'if (/[)}]"/.test(msg.topic)) { node.send(msg); } const s = `)} ${1 + `}`} {`;',
    ],
    ['sets an unrelated timer', 'setTimeout(() => node.status({}), 100);\nnode.send(msg);'],
  ])('is tracked: %s', (_, code) => {
    expect(sendsLater(code)).toBe(false);
  });
});

describe('function code that sends after it has ended', () => {
  it.each([
    ['in a timer', 'setTimeout(() => node.send(msg), 10);'],
    ['in a timer, old style', 'setTimeout(function () {\n  node.send(msg);\n}, 10);\nreturn null;'],
    ['in an interval', 'const t = setInterval(() => { node.send(msg); }, 10);'],
    ['by a timer that gets send itself', 'setTimeout(node.send, 10, msg);'],
    ['in a promise chain that nobody awaits', 'load(msg).then((r) => { node.send(r); });'],
    ['in a chain after an awaited line', 'await a()\nload(msg).then(r => node.send(r))'],
    [
      'in an awaited call that does not wait for it',
      'await new Promise((ok) => ok());\nsetTimeout(() => node.send(msg));',
    ],
    ['in a timer that is returned', 'return setTimeout(() => node.send(msg), 10);'],
    ['in a node-style callback', "fs.readFile('x', (err, data) => { node.send({ payload: data }); });"],
    ['in an event listener', "stream.on('data', (d) => node.send({ payload: d }));"],
    ['in a loop inside a callback', 'load(msg, (list) => { list.forEach((x) => node.send(x)); });'],
    ['in its own function from a timer', 'function emit() { node.send(msg); }\nsetTimeout(emit, 10);'],
    [
      'in its own function called from a callback',
      'const emit = (m) => { node.send(m); };\nload((r) => emit(r));',
    ],
    ['in an async function that nobody awaits', 'async function run() { node.send(await x()); }\nrun();'],
    ['in an async function on the spot', '(async () => { node.send(await x()); })();'],
    ['in async iteration', 'msg.payload.forEach(async (p) => { node.send(await load(p)); });'],
    [
      'in a promise executor that waits',
      'new Promise((ok) => setTimeout(() => { node.send(msg); ok(); }, 5));',
    ],
    [
      'in a method of an object',
      'client.subscribe({ next(value) { node.send(value); }, next2: (v) => node.send(v) });',
    ],
    ['with done only in a comment', 'setTimeout(() => node.send(msg), 1); // node.done()'],
    ['inside a template', 'const s = `${load((r) => node.send(r))}`;'],
  ])('is not: %s', (_, code) => {
    expect(sendsLater(code)).toBe(true);
  });
});

describe('odd code', () => {
  it.each([
    '',
    ')}]',
    'node.send(',
    '`${',
    '"',
    '/*',
    '/[',
    '=> => node.send(',
    'setTimeout(() => { node.send(msg)',
    'node.send',
  ])('is judged without a throw: %j', (code) => {
    expect(typeof sendsLater(code)).toBe('boolean');
  });

  it('is judged in linear time', () => {
    const code = 'if (a) { node.send(msg); }\n'.repeat(20_000);
    const started = performance.now();
    expect(sendsLater(code)).toBe(false);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
