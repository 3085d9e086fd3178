// npm test: installs and builds what is missing, then runs vitest. Arguments are vitest's: npm test -- test/unit
import { requireNode } from './setup/node-version.mjs';

requireNode();
const { main } = await import('./test/main.mjs');
process.exitCode = await main(process.argv.slice(2));
