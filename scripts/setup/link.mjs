import { lstatSync } from 'node:fs';

/** npm would change the folder behind a link. @param {string} path */
export const isLink = (path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
