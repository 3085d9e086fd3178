// npm run send -- BODY: signs a body with the secret of npm start and posts it to the webhook of the first flow.
import { requireNode } from './setup/node-version.mjs';

requireNode();
const { main } = await import('./start/send.mjs');
process.exitCode = await main(process.argv.slice(2));
