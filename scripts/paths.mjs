import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout, wherever it lies. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** @param {string[]} parts */
export const inRoot = (...parts) => join(root, ...parts);
