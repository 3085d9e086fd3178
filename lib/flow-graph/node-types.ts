/**
 * What the walk knows about node types: ours by role, and the core nodes whose behaviour the flow JSON alone decides.
 * The one place to touch when a node of ours is added.
 */

export type Role = 'source' | 'sink' | 'queue' | 'stage';

/** Tells a node's role by its type; undefined for nodes that aren't ours. */
export type RoleOf = (type: string) => Role | undefined;

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['signed-webhook', 'source'],
  ['ingest-api', 'source'],
  ['jetstream-source', 'source'],
  ['mqtt-source', 'source'],
  ['poll-gate', 'source'],
  ['schedule-source', 'source'],
  ['backfill-source', 'source'],
  ['push-queue', 'queue'],
  ['rest-sink', 'sink'],
  ['clickhouse-sink', 'sink'],
  ['postgres-sink', 'sink'],
  ['nats-sink', 'sink'],
  ['mqtt-sink', 'sink'],
  ['record-decode', 'stage'],
  ['record-schema', 'stage'],
  ['record-transform', 'stage'],
  ['record-template', 'stage'],
  ['supplier-router', 'stage'],
  // A dlq has a reserve of its own and never makes a source refuse: no sink here.
  ['dlq', 'stage'],
  ['alert', 'stage'],
  ['delivery-status', 'stage'],
]);

/** The roles of this package's own nodes. */
export const roleOf: RoleOf = (type) => ROLES.get(type);

/** Nodes of ours that only pass a record on: what they send to an output without a wire would be lost. */
const PASSING_ON: ReadonlySet<string> = new Set([
  'record-decode',
  'record-schema',
  'record-transform',
  'record-template',
  'supplier-router',
]);

export const mustPassOn = (type: string): boolean => PASSING_ON.has(type);

/** A queue's first output delivers; the others only tell of records that went elsewhere, and nobody waits for those. */
export const DELIVERY_PORT = 0;

/** Core nodes that pass a message on and never raise an error, so no catch node can follow them. */
export const SILENT_TYPES: ReadonlySet<string> = new Set([
  'junction',
  'link in',
  'link out',
  'catch',
  'complete',
  'status',
  'comment',
]);

/** Ways out of the runtime that may lead back in where the JSON doesn't say. */
export const CHANNELS: ReadonlyMap<string, string> = new Map([
  ['mqtt out', 'may come back by an "mqtt in" node'],
  ['http request', 'may call an endpoint of this very runtime'],
  ['websocket out', 'may come back by a "websocket in" node'],
  ['tcp out', 'may come back by a "tcp in" node'],
  ['tcp request', 'may reach a "tcp in" node of this runtime'],
  ['udp out', 'may come back by a "udp in" node'],
  ['file', 'may be read again by a "watch", "tail" or "file in" node'],
  ['exec', 'runs a command that may call this runtime'],
]);
