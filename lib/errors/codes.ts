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
  ERR_SLUICE_DELIVERY_UNTRACKABLE: 'a node on the way cannot tell when it has finished with the record',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
