/**
 * Which routines come back. A link call sends on only after a link out in return mode gave the record back to it, so the
 * walk must know where a record that enters at a link in can meet one **in the same call**, calls on the way included. That
 * doesn't depend on who called, so one mark per vertex is enough: it is spread backwards from the returns, each edge once.
 */
import type { Vertex } from './graph';

/** What still keeps a link call from returning: the routine it calls, and something behind it. */
const ROUTINE_RETURNS = 1;
const ONWARD_RETURNS = 2;
const BOTH = ROUTINE_RETURNS | ONWARD_RETURNS;

interface Edges {
  /** A mark at this vertex marks these. */
  readonly free: number[];
  /** Link calls that send to this vertex. */
  readonly gated: number[];
  /** Link calls that call it. */
  readonly callers: number[];
}

function reversed(vertices: readonly Vertex[]): Edges[] {
  const edges: Edges[] = vertices.map(() => ({ free: [], gated: [], callers: [] }));
  for (const [from, vertex] of vertices.entries()) {
    if (vertex.catches >= 0) edges[vertex.catches]?.free.push(from);
    if (vertex.gated && vertex.call >= 0) edges[vertex.call]?.callers.push(from);
    const kind = vertex.gated ? 'gated' : 'free';
    for (const to of vertex.completes ?? []) edges[to]?.[kind].push(from);
    if (vertex.role === 'queue') continue;
    for (const to of vertex.outputs.flat()) edges[to]?.[kind].push(from);
  }
  return edges;
}

/** 1 for each vertex from which the current call can return. */
export function returning(vertices: readonly Vertex[]): Uint8Array {
  const marks = new Uint8Array(vertices.length);
  if (!vertices.some((vertex) => vertex.gated)) return marks;
  const edges = reversed(vertices);
  const half = new Uint8Array(vertices.length);
  const work: number[] = [];
  const mark = (vertex: number) => {
    if (marks[vertex]) return;
    marks[vertex] = 1;
    work.push(vertex);
  };
  const markHalf = (vertex: number, why: number) => {
    half[vertex] = (half[vertex] ?? 0) | why;
    if (half[vertex] === BOTH) mark(vertex);
  };
  for (const [index, vertex] of vertices.entries()) if (vertex.returns) mark(index);
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    for (const from of edges[at]?.free ?? []) mark(from);
    for (const from of edges[at]?.gated ?? []) markHalf(from, ONWARD_RETURNS);
    for (const from of edges[at]?.callers ?? []) markHalf(from, ROUTINE_RETURNS);
  }
  return marks;
}
