import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

// Tests run against dist/, the code that ships: Node-RED loads it with require, so tests and nodes share one copy.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^#lib\/(.*)$/, replacement: resolve(import.meta.dirname, 'dist/lib') + '/$1.js' },
      { find: /^#nodes\/(.*)$/, replacement: resolve(import.meta.dirname, 'dist/nodes') + '/$1.js' },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/engines/**'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    server: { deps: { external: [/\/dist\//] } },
  },
});
