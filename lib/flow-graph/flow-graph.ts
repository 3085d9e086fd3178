/** What the rest of the library sees of this room. */
export { buildFlowGraph, type FlowGraph } from './graph';
export { noteOn, reach, type Reach, type ReachNote, type ReachOptions } from './reach';
export { awaitedSinks, queueRing } from './queue-rings';
export { roleOf } from './node-types';
export { remarksOn, type AsyncStores, type Remarks } from './remarks';
