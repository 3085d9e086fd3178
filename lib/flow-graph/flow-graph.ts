/** What the rest of the library sees of this room. */
export { buildFlowGraph, type FlowGraph } from './graph';
export { reach, type LiveSink, type Reach, type ReachNote, type ReachOptions } from './reach';
export { awaitedSinks, queueRings, type CertainReach } from './queue-rings';
export { roleOf, type Role, type RoleOf } from './node-types';
