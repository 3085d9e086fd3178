/**
 * The one table of error codes. A code is public API: catch nodes, HTTP answers and logs carry it, and
 * `docs/errors.md` has a row for each (a test compares the two). Grouped by room.
 */
export const ERROR_CODES = {
  // config
  ERR_SLUICE_CONFIG_INVALID: 'a saved property of a node cannot work',
  // http
  ERR_SLUICE_HTTP_DISABLED: 'Node-RED serves no HTTP for nodes',
  ERR_SLUICE_HTTP_PATH_TAKEN: 'another node already serves this path',
  ERR_SLUICE_HTTP_RAW_BODY: 'another middleware read the request body before its signature could be verified',
  ERR_SLUICE_BODY_TOO_LARGE: 'a request body is over the limit',
  ERR_SLUICE_BODY_TIMEOUT: 'a sender took too long for its request body',
  ERR_SLUICE_BODY_BUDGET: 'too many request bodies are being read at once',
  ERR_SLUICE_BODY_INCOMPLETE: 'a sender left before its request body was complete',
  // delivery
  ERR_SLUICE_DELIVERY_TIMEOUT: 'the flow did not finish with the record in time',
  ERR_SLUICE_DELIVERY_ABORTED: 'a deploy or shutdown interrupted the record',
  ERR_SLUICE_DELIVERY_UNROUTED: 'no live node received the record',

  // queue: the stored record
  ERR_SLUICE_RECORD_UNSERIALISABLE: 'a message holds something that cannot be stored',
  ERR_SLUICE_RECORD_VERSION: 'a stored record has a format this version does not know',
  ERR_SLUICE_RECORD_DAMAGED: 'a stored record cannot be read',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
