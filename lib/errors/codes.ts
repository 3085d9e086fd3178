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
  // flow-graph
  ERR_SLUICE_FLOW_SOURCE_UNKNOWN: 'no enabled node of the flow has this id or name',
  ERR_SLUICE_FLOW_SOURCE_AMBIGUOUS: 'several nodes of the flow go by this name',
  // cli
  ERR_SLUICE_CLI_FILE_UNREADABLE: 'the file cannot be read',
  ERR_SLUICE_CLI_NOT_A_FLOW: 'the file holds no Node-RED flow',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
