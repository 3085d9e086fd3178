// npm run demo:clickhouse: a private ClickHouse for the example flow "ClickHouse sink", on port 8123 or PORT.
import { requireNode } from './setup/node-version.mjs';

requireNode();
const { main } = await import('./clickhouse/main.mjs');
process.exitCode = await main();
