import { describe, expect, it } from 'vitest';
import type { FlowConfigNode } from '#lib/node-red/types';
import { T, exactly, from, node, on, pass, queue, sink, subflow, tab, webhook } from './flow-graph-flows';

describe('link calls', () => {
  const call = (id: string, target: string, ...to: string[]) =>
    node(id, 'link call', [to], { linkType: 'static', links: [target] });
  const entry = (id: string, ...to: string[]) => node(id, 'link in', [to]);
  const back = node('back', 'link out', [], { mode: 'return', links: [] });

  it('O17 go on only when the routine can return, through a nested call, too', () => {
    const routine = (inner: FlowConfigNode[]) => [
      T,
      webhook('c'),
      call('c', 'r', 'S'),
      sink('S'),
      entry('r', 'c2'),
      call('c2', 'r2', 'back'),
      entry('r2', 'f'),
      back,
      ...inner,
    ];
    expect(from('W', routine([pass('f', 'back')])).sinks).toEqual(['S']);
    expect(from('W', routine([pass('f')])).sinks).toEqual([]);
  });

  it('O17 return to the caller, not to other callers of the same routine', () => {
    const flow = [
      T,
      webhook('c'),
      call('c', 'r', 'A'),
      call('other', 'r', 'B'),
      entry('r', 'back'),
      back,
      sink('A'),
      sink('B'),
    ];
    expect(from('W', flow).sinks).toEqual(['A']);
  });

  it('O17 return from a catch branch of the routine', () => {
    const flow = [
      T,
      tab('R'),
      webhook('c'),
      call('c', 'r', 'A'),
      sink('A'),
      on('R', entry('r', 'f')),
      on('R', pass('f')),
      on('R', node('k', 'catch', [['back']], { scope: null })),
      on('R', back),
    ];
    expect(from('W', flow).sinks).toEqual(['A']);
  });

  it('O17 end in a routine that only calls itself', () => {
    const flow = [
      T,
      webhook('c'),
      call('c', 'r', 'A'),
      entry('r', 'c2'),
      call('c2', 'r', 'back'),
      back,
      sink('A'),
    ];
    expect(from('W', flow).sinks).toEqual([]);
  });

  it('O17 do not take a record through a queue back to the caller', () => {
    const flow = [T, webhook('c'), call('c', 'r', 'A'), entry('r', 'Q'), queue('Q', 'back'), back, sink('A')];
    expect(from('W', flow).sinks).toEqual(['Q']);
  });

  it('O17 reach a link in beside them in a subflow, and one on a tab', () => {
    const inSubflow = (target: string) => [
      T,
      subflow('SF', ['c']),
      webhook('x'),
      node('x', 'subflow:SF', []),
      on('SF', call('c', target)),
      on('SF', entry('li', 'A')),
      on('SF', sink('A')),
      entry('out', 'B'),
      sink('B'),
    ];
    expect(from('W', inSubflow('li'), exactly).sinks).toEqual(['x-A']);
    expect(from('W', inSubflow('out'), exactly).sinks).toEqual(['B']);
  });

  it('O17 to a target that the message names reach every live link in, none of them for certain', () => {
    const flow = [
      T,
      tab('off', true),
      webhook('c'),
      node('c', 'link call', [['A']], { linkType: 'dynamic', links: [] }),
      entry('r1', 'S1', 'back'),
      on('off', entry('r2', 'S2')),
      back,
      sink('A'),
      sink('S1'),
      on('off', sink('S2')),
    ];
    const { sinks, certain, conservative, why } = from('W', flow);
    expect({ sinks, certain, conservative }).toEqual({
      sinks: ['A', 'S1'],
      certain: ['A'],
      conservative: true,
    });
    expect(why).toEqual(['c calls a link in that is known only at run time']);
  });

  it('O17 say that link ins inside subflow instances are left out, unless the call is inside, too', () => {
    const flow = [
      T,
      subflow('SF', ['c']),
      node('x', 'subflow:SF'),
      webhook('x', 'c0'),
      node('c0', 'link call', [[]], { linkType: 'dynamic', links: [] }),
      on('SF', node('c', 'link call', [[]], { linkType: 'dynamic', links: [] })),
      on('SF', entry('li', 'A')),
      on('SF', sink('A')),
    ];
    const outside = from('c0', flow, exactly);
    expect(outside.sinks).toEqual([]);
    expect(outside.notAnalysed).toMatchObject([{ id: 'c0' }]);
    expect(from('x', flow, exactly).sinks).toEqual(['x-A']);
  });

  it('O17 from function code count as calls to any link in', () => {
    const code = 'const r = await node.linkcall("enrich", msg); return r;';
    const flow = [
      T,
      webhook('f'),
      node('f', 'function', [['A']], { func: code }),
      sink('A'),
      entry('r', 'S'),
      sink('S'),
    ];
    const { sinks, certain } = from('W', flow);
    expect({ sinks, certain }).toEqual({ sinks: ['A', 'S'], certain: ['A'] });
  });
});

describe('link out', () => {
  it('O17 leads to both ends of its links, but not across the border of a subflow', () => {
    const flow = [
      T,
      subflow('SF', ['li']),
      webhook('lo'),
      node('lo', 'link out', [], { mode: 'link', links: ['a', 'li'] }),
      node('a', 'link in', [['A']], { links: [] }),
      node('b', 'link in', [['B']], { links: ['lo'] }),
      node('x', 'subflow:SF'),
      on('SF', node('li', 'link in', [['C']], { links: ['lo'] })),
      on('SF', sink('C')),
      sink('A'),
      sink('B'),
    ];
    expect(from('W', flow).sinks).toEqual(['A', 'B']);
  });
});
