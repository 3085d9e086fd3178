/**
 * The one table of error codes. A code is public API: catch nodes, HTTP answers and logs carry it, and
 * `docs/errors.md` has a row for each (a test compares the two). Grouped by room.
 */
export const ERROR_CODES = {
  // config
  ERR_SLUICE_CONFIG_INVALID: 'a saved property of a node cannot work',
  // delivery
  ERR_SLUICE_DELIVERY_TIMEOUT: 'the flow did not finish with the record in time',
  ERR_SLUICE_DELIVERY_ABORTED: 'a deploy or shutdown interrupted the record',
  ERR_SLUICE_DELIVERY_UNROUTED: 'no live node received the record',

  // sqlite: any file of ours
  ERR_SLUICE_NATIVE_MODULE: 'better-sqlite3 does not load in this Node.js',

  // queue: the store
  ERR_SLUICE_QUEUE_DISK_FULL: 'the disk of a queue has no room',
  ERR_SLUICE_QUEUE_LOCKED: 'another process uses the queue',
  ERR_SLUICE_QUEUE_NEWER: 'the queue was written by a newer version',
  ERR_SLUICE_QUEUE_FOREIGN: 'the queue is a database of another program',
  ERR_SLUICE_QUEUE_UNWRITABLE: 'the queue cannot be opened for writing',
  ERR_SLUICE_QUEUE_CORRUPT: 'the file of a queue was damaged and was set aside',
  ERR_SLUICE_QUEUE_IO: 'the file of a queue could not be read or written',
  ERR_SLUICE_QUEUE_WORKER: 'the thread that owns the queue was lost',
  ERR_SLUICE_QUEUE_CLOSED: 'the queue is closed',
  ERR_SLUICE_QUEUE_STALLED: 'the disk of a queue does not keep up',

  // queue: the stored record
  ERR_SLUICE_RECORD_UNSERIALISABLE: 'a message holds something that cannot be stored',
  ERR_SLUICE_RECORD_VERSION: 'a stored record has a format this version does not know',
  ERR_SLUICE_RECORD_DAMAGED: 'a stored record cannot be read',
  // webhook
  ERR_SLUICE_WEBHOOK_SECRET_MISSING: 'a webhook has no secret',
  ERR_SLUICE_WEBHOOK_SECRET_MALFORMED: 'a webhook secret is not written as its scheme expects',
  ERR_SLUICE_WEBHOOK_SCHEME_INVALID: 'the properties of a signature scheme cannot work together',
  ERR_SLUICE_WEBHOOK_BAD_SIGNATURE: 'the signature of a request does not fit a configured secret',
  ERR_SLUICE_WEBHOOK_MISSING_HEADER: 'a header that the signature scheme needs is missing',
  ERR_SLUICE_WEBHOOK_MALFORMED_HEADER: 'a header of the signature scheme is not written as it should be',
  ERR_SLUICE_WEBHOOK_STALE_TIMESTAMP: 'the signed timestamp is too far from now',
  // body
  ERR_SLUICE_BODY_NOT_JSON: 'the body of a request is not JSON',
  ERR_SLUICE_BODY_NOT_TEXT: 'the body of a request is not text in the charset it names',
  ERR_SLUICE_BODY_CHARSET: 'the body of a request names a charset that cannot be decoded',
  // inbox
  ERR_SLUICE_INBOX_FULL: 'the inbox is at its quota',
  ERR_SLUICE_INBOX_DISK_FULL: 'the disk of the inbox is full',
  ERR_SLUICE_INBOX_LOCKED: 'another process uses the inbox',
  ERR_SLUICE_INBOX_NEWER: 'the inbox was written by a newer version',
  ERR_SLUICE_INBOX_FOREIGN: 'the file of the inbox belongs to another program',
  ERR_SLUICE_INBOX_UNWRITABLE: 'the file of the inbox cannot be written',
  ERR_SLUICE_INBOX_CORRUPT: 'the file of the inbox was damaged',
  ERR_SLUICE_INBOX_IO: 'the disk of the inbox fails',
  ERR_SLUICE_INBOX_WORKER: 'the thread of the inbox ended',
  ERR_SLUICE_INBOX_CLOSED: 'the inbox is closed',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
