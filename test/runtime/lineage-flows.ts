/** Properties of core nodes as the editor saves them, for flows in lineage tests. */

export const func = (body: string, outputs = 1) => ({
  func: body,
  outputs,
  timeout: 0,
  noerr: 0,
  initialize: '',
  finalize: '',
  libs: [],
});

export const change = { rules: [{ t: 'set', p: 'changed', pt: 'msg', to: 'yes', tot: 'str' }] };

export const switchOn = (rule: object, property = 'payload', propertyType = 'msg') => ({
  property,
  propertyType,
  rules: [rule],
  checkall: 'true',
  outputs: 1,
});

export const delay = (ms: number) => ({
  pauseType: 'delay',
  timeout: String(ms),
  timeoutUnits: 'milliseconds',
  rate: '1',
  nbRateUnits: '1',
  rateUnits: 'second',
  randomFirst: '1',
  randomLast: '5',
  randomUnits: 'seconds',
  drop: false,
});

export const rateLimit = (perSecond: number, drop = false) => ({
  ...delay(5),
  pauseType: 'rate',
  rate: String(perSecond),
  drop,
  outputs: 1,
});

export const split = {
  splt: '\\n',
  spltType: 'str',
  arraySplt: 1,
  arraySpltType: 'len',
  stream: false,
  addname: '',
  property: 'payload',
};

const join = {
  build: 'array',
  property: 'payload',
  propertyType: 'msg',
  key: 'topic',
  joiner: '\\n',
  joinerType: 'str',
  accumulate: false,
  timeout: '',
  count: '',
  reduceRight: false,
};
export const joinAuto = { ...join, mode: 'auto' };
export const joinCount = (count: number) => ({ ...join, mode: 'custom', count: String(count) });

const batch = { overlap: 0, allowEmptySequence: false, topics: [], honourParts: false };
export const batchCount = (count: number) => ({ ...batch, mode: 'count', count, interval: 10 });
export const batchInterval = (secs: number) => ({ ...batch, mode: 'interval', count: 2, interval: secs });

export const trigger = {
  op1: '1',
  op2: '0',
  op1type: 'str',
  op2type: 'str',
  duration: '300',
  extend: false,
  overrideDelay: false,
  units: 'ms',
  reset: '',
  bytopic: 'all',
  topic: 'topic',
  outputs: 1,
};

export const rbe = {
  func: 'rbe',
  gap: '',
  start: '',
  inout: 'out',
  septopics: true,
  property: 'payload',
  topi: 'topic',
};

export const template = {
  field: 'payload',
  fieldType: 'msg',
  format: 'handlebars',
  syntax: 'mustache',
  template: 'x {{payload}}',
  output: 'str',
};

export const json = { property: 'payload', action: '', pretty: false };

export const exec = (command: string, spawn = false) => ({
  command,
  addpay: '',
  append: '',
  useSpawn: String(spawn),
  timer: '',
  winHide: false,
  oldrc: false,
});

export const file = (filename: string) => ({
  filename,
  filenameType: 'str',
  appendNewline: true,
  createDir: false,
  overwriteFile: 'false',
  encoding: 'none',
});

export const httpRequest = (url: string) => ({
  method: 'GET',
  ret: 'txt',
  paytoqs: 'ignore',
  url,
  tls: '',
  persist: false,
  proxy: '',
  insecureHTTPParser: false,
  authType: '',
  senderr: false,
  headers: [],
});

export const linkCall = (target: string, secs: number) => ({
  links: [target],
  linkType: 'static',
  timeout: String(secs),
});

/** A subflow `function -> delay 50 ms`, whose function throws on payload `fail`. */
export const slowSubflow = [
  {
    id: 'slow',
    type: 'subflow',
    name: 'slow',
    info: '',
    in: [{ x: 0, y: 0, wires: [{ id: 'slow.check' }] }],
    out: [{ x: 0, y: 0, wires: [{ id: 'slow.delay', port: 0 }] }],
    env: [],
  },
  {
    id: 'slow.check',
    type: 'function',
    z: 'slow',
    x: 0,
    y: 0,
    wires: [['slow.delay']],
    ...func('if (msg.payload === "fail") throw new Error("inside"); return msg'),
  },
  { id: 'slow.delay', type: 'delay', z: 'slow', x: 0, y: 0, wires: [[]], ...delay(50) },
];
