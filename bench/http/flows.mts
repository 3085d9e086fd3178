/** All sides of the comparison live in one Node-RED process, so that noise hits them alike. */
export const SECRET = 'whsec_c2x1aWNlLWJlbmNobWFyay1zZWNyZXQtMDAwMQ==';

export interface BenchNode {
  readonly id: string;
  readonly type: string;
  readonly [property: string]: unknown;
}

const passThrough = {
  func: 'return msg;',
  outputs: 1,
  timeout: 0,
  noerr: 0,
  initialize: '',
  finalize: '',
  libs: [],
};

function core(name: string, withFunction: boolean): BenchNode[] {
  const z = `core-${name}`;
  const answer = `${z}-out`;
  return [
    { id: z, type: 'tab', label: z },
    {
      id: `${z}-in`,
      type: 'http in',
      z,
      url: `/${name}`,
      method: 'post',
      wires: [[withFunction ? `${z}-f` : answer]],
    },
    ...(withFunction ? [{ id: `${z}-f`, type: 'function', z, ...passThrough, wires: [[answer]] }] : []),
    { id: answer, type: 'http response', z, statusCode: '200', wires: [] },
  ];
}

function sluice(name: string, queue: Record<string, unknown>, withFunction: boolean): BenchNode[] {
  const z = `sluice-${name}`;
  const sink = `${z}-queue`;
  return [
    { id: z, type: 'tab', label: z },
    {
      id: `${z}-in`,
      type: 'signed-webhook',
      z,
      hook: name,
      scheme: 'standard',
      toleranceSecs: 86_400,
      credentials: { secret: SECRET },
      wires: [[withFunction ? `${z}-f` : sink]],
    },
    ...(withFunction ? [{ id: `${z}-f`, type: 'function', z, ...passThrough, wires: [[sink]] }] : []),
    { id: sink, type: 'push-queue', z, queue: name, ...queue, wires: [[], []] },
  ];
}

export const PLAIN = '/plain';
export const PLAIN_FUNCTION = '/plain-function';
export const HOOK = '/api/hooks/direct';
export const HOOK_FUNCTION = '/api/hooks/function';
export const HOOK_FULL = '/api/hooks/full';

export const flows: readonly BenchNode[] = [
  ...core('plain', false),
  ...core('plain-function', true),
  ...sluice('direct', { onFull: 'block', maxQuotaMb: 20_000 }, false),
  ...sluice('function', { onFull: 'block', maxQuotaMb: 20_000 }, true),
  // One record fills it: everything after that is refused at the door.
  ...sluice('full', { onFull: 'block', maxQuotaMb: 0.0001 }, false),
];
