// npm start: Node-RED with Sluice and a first flow, in a user directory of its own. Needs only Node and npm.
import { requireNode } from './setup/node-version.mjs';

requireNode();
const { main } = await import('./start/main.mjs');
process.exitCode = await main();
