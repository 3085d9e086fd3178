const LINE = '[ \\t]*[^=\\s][^=\\r\\n]*=[ \\t]*\\S[^\\r\\n]*';

/**
 * `column = property`, one a line, with empty lines anywhere: how sinks name what goes where. No two parts of it fit the
 * same text, so that a long field takes no longer to check than to read.
 */
export const COLUMN_LINES = new RegExp(`^(?:${LINE}|[ \\t]*)(?:\\r?\\n(?:${LINE}|[ \\t]*))*$`);
