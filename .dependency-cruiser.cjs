// The rooms of lib/ from the ground up: a room may import those before it and itself.
// flow-graph and webhook know nothing of delivery, delivery nothing of queues, and only nodes know everything.
const ROOMS = [
  'errors',
  'config',
  'packages',
  'quota',
  'sqlite',
  'flow-graph',
  'alert',
  'metrics',
  'delivery',
  'record',
  'webhook',
  'batch',
  'postgres',
  'clickhouse',
  'queue',
  'inbox',
  'dead-letter',
  'rest',
  'api',
  'node-red',
  'cli',
];

// The edge of Node-RED's API itself lies on the ground; what puts the rooms together for it is at the top.
const EDGE = '^lib/node-red/(types|hooks|error-patch)\\.ts$';

const roomsPointDown = ROOMS.slice(0, -1).map((room, index) => ({
  name: `${room}-points-down`,
  comment: `lib/${room} may only import rooms below it: ${ROOMS.slice(0, index).join(', ') || 'none'}`,
  severity: 'error',
  from: { path: `^lib/${room}/` },
  to: {
    path: `^lib/(${ROOMS.slice(index + 1).join('|')})/`,
    pathNot: EDGE,
    dependencyTypesNot: ['type-only'],
  },
}));

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'lib-never-imports-nodes',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: '^nodes/' },
    },
    {
      name: 'nodes-dont-import-each-other',
      severity: 'error',
      from: { path: '^nodes/([^/]+)/' },
      to: { path: '^nodes/', pathNot: '^nodes/$1/' },
    },
    {
      name: 'product-never-imports-tests',
      severity: 'error',
      from: { path: '^(lib|nodes|scripts)/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'editor-stays-in-the-browser',
      comment: 'what is bundled into the editor has nothing of Node and nothing of the runtime',
      severity: 'error',
      from: { path: '^lib/editor/|\\.editor\\.ts$|\\.config\\.ts$' },
      to: {
        path: '.',
        pathNot: '^lib/(editor|config)/|\\.(config|editor)\\.ts$|^nodes/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'runtime-never-imports-editor',
      severity: 'error',
      from: { path: '^(lib|nodes)/', pathNot: '^lib/editor/|\\.editor\\.ts$' },
      to: { path: '^lib/editor/|\\.editor\\.ts$' },
    },
    {
      name: 'node-red-only-in-its-room',
      comment: "Node-RED's own packages are not importable from a user directory",
      severity: 'error',
      from: { path: '^(lib|nodes)/' },
      to: { path: 'node_modules/(@node-red|node-red)/' },
    },
    {
      name: 'everything-resolves',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'runtime-uses-dependencies-only',
      severity: 'error',
      from: { path: '^(lib|nodes)/', pathNot: '^lib/editor/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    ...roomsPointDown,
  ],
  options: {
    doNotFollow: { path: 'node_modules|^dist' },
    exclude: { path: '^test/engines/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
