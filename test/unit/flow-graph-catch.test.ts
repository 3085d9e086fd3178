import { describe, expect, it } from 'vitest';
import type { FlowConfigNode } from '#lib/node-red/types';
import { T, exactly, from, node, on, pass, sink, subflow, webhook } from './flow-graph-flows';

describe('catch nodes', () => {
  const caught = (catchers: FlowConfigNode[], more: FlowConfigNode[] = [], groupOfF?: string) =>
    from('W', [
      T,
      webhook('j'),
      node('j', 'junction', [['f']]),
      { ...pass('f'), ...(groupOfF !== undefined && { g: groupOfF }) },
      ...catchers,
      ...catchers.map(({ id }) => sink(`S-${id}`)),
      ...more,
    ]).sinks;
  const catcher = (id: string, more: object) =>
    node(id, 'catch', [[`S-${id}`]], { scope: ['f'], uncaught: false, ...more });
  const group = (id: string, g?: string): FlowConfigNode => ({
    id,
    type: 'group',
    z: 'T',
    ...(g !== undefined && { g }),
  });

  it('O17 follow the errors of the nodes they name', () => {
    expect(caught([catcher('a', {}), catcher('b', { scope: ['zz'] }), catcher('c', { scope: [] })])).toEqual([
      'S-a',
    ]);
  });

  it('O17 of a group cover the groups inside it', () => {
    const groups = [group('G'), group('H', 'G'), group('X')];
    const scoped = ['G', 'H', 'X'].map((g) => catcher(`k${g}`, { g, scope: 'group' }));
    expect(caught(scoped, groups, 'H')).toEqual(['S-kG', 'S-kH']);
    expect(caught(scoped, groups, 'G')).toEqual(['S-kG']);
    expect(caught(scoped, groups)).toEqual([]);
  });

  it('O17 for uncaught errors get what no earlier or nearer one took', () => {
    const named = { scope: null, uncaught: true };
    expect(caught([catcher('rest', named), catcher('all', { scope: null })])).toEqual(['S-all']);
    expect(caught([catcher('rest', named), catcher('more', named)])).toEqual(['S-rest', 'S-more']);
    const inGroup = [catcher('near', { ...named, g: 'G' }), catcher('all', { scope: null })];
    expect(caught(inGroup, [group('G')], 'G')).toEqual(['S-near', 'S-all']);
  });

  it('O17 outside get what nobody inside a subflow took, with the instance as the reporting node', () => {
    const inside = (innerCatch: FlowConfigNode[]) => [
      T,
      subflow('SF', ['f']),
      webhook('x'),
      node('x', 'subflow:SF'),
      on('SF', pass('f')),
      ...innerCatch.map((one) => on('SF', one)),
      on('SF', sink('S-in')),
      node('out', 'catch', [['S-out']], { scope: ['x'] }),
      sink('S-out'),
    ];
    expect(from('W', inside([]), exactly).sinks).toEqual(['S-out']);
    expect(from('W', inside([node('in', 'catch', [['S-in']], { scope: null })]), exactly).sinks).toEqual([
      'x-S-in',
    ]);
  });
});
