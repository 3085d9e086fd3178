// npm run demo: 2,000 signed webhooks, a destination that dies, a Node-RED that is killed; nothing may be lost.
import { requireNode } from './setup/node-version.mjs';

requireNode();
const { main } = await import('./demo/main.mjs');
process.exitCode = await main();
