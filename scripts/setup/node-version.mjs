// Written for old versions of Node: it has to run there to say that it won't.

/**
 * Compares dotted versions by number.
 * @param {string} version
 * @param {string} least
 */
export function isAtLeast(version, least) {
  const have = version.split('.').map(Number);
  const want = least.split('.').map(Number);
  for (let i = 0; i < want.length; i++) {
    const difference = (have[i] || 0) - (want[i] || 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

export const LEAST_NODE = '20.19.0';

/** Ends the process with a sentence where Node is too old. */
export function requireNode() {
  if (isAtLeast(process.versions.node, LEAST_NODE)) return;
  console.error(
    'Sluice needs Node.js ' +
      LEAST_NODE +
      ' or newer; this is ' +
      process.version +
      '. Get one from https://nodejs.org',
  );
  process.exit(1);
}
