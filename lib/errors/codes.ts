/**
 * The one table of error codes. A code is public API: catch nodes, HTTP answers and logs carry it, and
 * `docs/errors.md` has a row for each (a test compares the two). Grouped by room.
 */
export const ERROR_CODES = {
  // config
  ERR_SLUICE_CONFIG_INVALID: 'a saved property of a node cannot work',
  ERR_SLUICE_SECRET_VARIABLE_UNSET: 'a secret names an environment variable that is not set',
  // http
  ERR_SLUICE_HTTP_DISABLED: 'Node-RED serves no HTTP for nodes',
  ERR_SLUICE_HTTP_PATH_TAKEN: 'another node already serves this path',
  ERR_SLUICE_HTTP_RAW_BODY: 'another middleware read the request body before its signature could be verified',
  ERR_SLUICE_BODY_TOO_LARGE: 'a request body is over the limit',
  ERR_SLUICE_BODY_TIMEOUT: 'a sender took too long for its request body',
  ERR_SLUICE_BODY_BUDGET: 'too many request bodies are being read at once',
  ERR_SLUICE_BODY_INCOMPLETE: 'a sender left before its request body was complete',
  ERR_SLUICE_INGEST_TOKEN_MISSING: 'an ingest source has no token',
  ERR_SLUICE_INGEST_TOKEN: 'the bearer token of a request is missing or wrong',
  ERR_SLUICE_INGEST_ID_MISSING: 'a request to an ingest source names no record',
  ERR_SLUICE_SOURCE_UNKNOWN: 'no live source has this id',
  ERR_SLUICE_KEY_REJECTED: 'a request repeats a record that was rejected for good',
  ERR_SLUICE_KEY_REUSED: 'a request repeats an id with another body',
  // inbox
  ERR_SLUICE_INBOX_FULL: 'the inbox is at its quota',
  ERR_SLUICE_INBOX_DISK_FULL: 'the disk of the inbox is full',
  ERR_SLUICE_INBOX_DISK_LOW: 'the disk of the inbox is nearly full',
  ERR_SLUICE_INBOX_LOCKED: 'another process uses the inbox',
  ERR_SLUICE_INBOX_NEWER: 'the inbox was written by a newer version',
  ERR_SLUICE_INBOX_FOREIGN: 'the file of the inbox belongs to another program',
  ERR_SLUICE_INBOX_UNWRITABLE: 'the file of the inbox cannot be written',
  ERR_SLUICE_INBOX_CORRUPT: 'the file of the inbox was damaged',
  ERR_SLUICE_INBOX_IO: 'the disk of the inbox fails',
  ERR_SLUICE_INBOX_WORKER: 'the thread of the inbox ended',
  ERR_SLUICE_INBOX_CLOSED: 'the inbox is closed',
  ERR_SLUICE_INBOX_CRASHES: 'a record ended the process each time it was sent',
  // delivery
  ERR_SLUICE_DELIVERY_FAILED: 'a node failed with an error that has no code of ours',
  ERR_SLUICE_DELIVERY_TIMEOUT: 'the flow did not finish with the record in time',
  ERR_SLUICE_DELIVERY_ABORTED: 'a deploy or shutdown interrupted the record',
  ERR_SLUICE_DELIVERY_UNROUTED: 'no live node received the record',
  ERR_SLUICE_DELIVERY_UNTRACKABLE: 'a node on the way cannot tell when it has finished with the record',
  // sqlite: any file of ours
  ERR_SLUICE_NATIVE_MODULE: 'better-sqlite3 does not load in this Node.js',
  // queue: the store
  ERR_SLUICE_QUEUE_DISK_FULL: 'the disk of a queue has no room',
  ERR_SLUICE_QUEUE_DISK_LOW: 'the disk of a queue is nearly full',
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
  ERR_SLUICE_BODY_ENCODING: 'the body of a request is compressed',
  // push queue
  ERR_SLUICE_QUEUE_FULL: 'a push queue is at its quota and refuses the record',
  ERR_SLUICE_QUEUE_WRITER_FULL: 'too many records wait for the disk',
  ERR_SLUICE_QUEUE_OPENING: 'a push queue is not open yet',
  ERR_SLUICE_QUEUE_NAME_TAKEN: 'two push queue nodes name the same queue',
  ERR_SLUICE_QUEUE_STORE_UNSUPPORTED: 'a push queue asks for a store that this version does not have',
  ERR_SLUICE_QUEUE_REJECTED: 'a record was rejected for good by its destination',
  ERR_SLUICE_QUEUE_ATTEMPTS_SPENT: 'a record was delivered as often as allowed, without success',
  ERR_SLUICE_QUEUE_OUTCOME_UNKNOWN: 'deliveries of a record ended without a known outcome too often in a row',
  ERR_SLUICE_QUEUE_CRASHES: 'the process ended each time a record was delivered',
  // batch: sinks that store records in batches
  ERR_SLUICE_BATCH_FULL: 'the backlog of a sink is full; the origin keeps the record',
  ERR_SLUICE_BATCH_EVICTED: 'the record was the oldest in a full backlog and made room for a newer one',
  // rest-sink
  ERR_SLUICE_REST_BACKLOG_FULL: 'the backlog of a REST sink is full; the origin keeps the record',
  ERR_SLUICE_REST_BUSY: 'the destination is overloaded or failing',
  ERR_SLUICE_REST_EVICTED: 'the record was the oldest in a full backlog and made room for a newer one',
  ERR_SLUICE_REST_NOT_FOUND: 'the destination does not know this address or method',
  ERR_SLUICE_REST_PAYLOAD: 'the payload has no form in which it could be sent',
  ERR_SLUICE_REST_REDIRECTED: 'the destination answered with a redirect',
  ERR_SLUICE_REST_REJECTED: 'the destination refused this record for good',
  ERR_SLUICE_REST_TIMEOUT: 'the destination did not answer in time',
  ERR_SLUICE_REST_TLS: 'no trusted TLS connection to the destination',
  ERR_SLUICE_REST_UNAUTHORIZED: 'the destination or the proxy refused the credentials',
  ERR_SLUICE_REST_UNEXPECTED: 'the destination answered with a status that is neither success nor failure',
  ERR_SLUICE_REST_UNREACHABLE:
    'no connection to the destination, or one that broke before the answer was complete',
  // packages that only some settings need
  ERR_SLUICE_PACKAGE_MISSING: 'a setting needs a package that is not installed',
  // record-decode
  ERR_SLUICE_DECODE_INPUT: 'the payload to decode is neither bytes nor text',
  ERR_SLUICE_DECODE_COMPRESSION: 'a payload cannot be decompressed',
  ERR_SLUICE_DECODE_TOO_LARGE: 'a payload is over the limit, as it came or decompressed',
  ERR_SLUICE_DECODE_CHARSET: 'a payload names a charset that cannot be decoded',
  ERR_SLUICE_DECODE_TEXT: 'a payload is not text in its encoding',
  ERR_SLUICE_DECODE_SYNTAX: 'a payload is not written in the format of its codec',
  ERR_SLUICE_DECODE_DEPTH: 'a payload nests too deep',
  ERR_SLUICE_DECODE_KEY: 'a payload has a key twice in one object, or one that no object can keep',
  ERR_SLUICE_DECODE_NUMBER: 'a payload holds NaN or an infinity',
  // record-schema
  ERR_SLUICE_SCHEMA_DEFINITION: 'a schema does not compile',
  ERR_SLUICE_SCHEMA_MISMATCH: 'a record does not fit its schema',
  // record-template, and the templates of sinks
  ERR_SLUICE_TEMPLATE_SYNTAX: 'a template is not written as its syntax asks',
  ERR_SLUICE_TEMPLATE_FAILED:
    'a record lacks what a template asks for, or has it in a form that cannot be written',
  ERR_SLUICE_TEMPLATE_NOT_JSON: 'what a template makes of a record is not JSON',
  // flow-graph
  ERR_SLUICE_FLOW_SOURCE_UNKNOWN: 'no enabled node of the flow has this id or name',
  ERR_SLUICE_FLOW_SOURCE_AMBIGUOUS: 'several nodes of the flow go by this name',
  // admin API
  ERR_SLUICE_API_QUERY: 'a query parameter or body of the admin API is not as it should be',
  ERR_SLUICE_API_FORBIDDEN: 'a request to the admin API lacks a permission',
  ERR_SLUICE_API_FAILED: 'the admin API could not make an answer',
  ERR_SLUICE_QUEUE_UNKNOWN: 'no queue has this id or name',
  // cli
  ERR_SLUICE_CLI_UNREACHABLE: 'Node-RED does not answer the command line',
  ERR_SLUICE_CLI_REFUSED: 'Node-RED refuses what the command line asked for',
  ERR_SLUICE_CLI_FILE_UNREADABLE: 'the file cannot be read',
  ERR_SLUICE_CLI_NOT_A_FLOW: 'the file holds no Node-RED flow',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
