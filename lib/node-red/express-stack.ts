/**
 * A look into Express 4's router, which Node-RED's own `http in` takes as well. Everything is feature-tested: with a
 * router of another make the answers are "unknown", and callers take the longer way.
 */

interface Layer {
  readonly handle: unknown;
  readonly name?: string;
  readonly route?: unknown;
  readonly regexp?: RegExp & { readonly fast_slash?: boolean };
}

export interface ExpressApp {
  readonly parent?: ExpressApp;
  readonly _router?: { readonly stack: Layer[] };
  use(handler: unknown): void;
}

export function rootApp(app: ExpressApp): ExpressApp {
  let root = app;
  while (root.parent) root = root.parent;
  return root;
}

export function appStack(app: ExpressApp): Layer[] | undefined {
  const stack = app._router?.stack;
  return Array.isArray(stack) ? stack : undefined;
}

/** Layers of Express and of Node-RED's core that neither refuse a request nor change it. */
const HARMLESS = new Set(['query', 'expressInit', 'rawBodyCapture']);

/**
 * Whether a request on one of `paths` (below `base`, where `inner` is mounted) meets nothing but Express, Node-RED's
 * apps and our `own` layers on its way there. Middleware of anybody else (authentication, rate limits, logging) must
 * not be passed by.
 */
export function isTransparent(
  root: ExpressApp,
  inner: ExpressApp,
  own: readonly unknown[],
  base: string,
  paths: readonly string[],
): boolean {
  const outerStack = appStack(root);
  const innerStack = appStack(inner);
  if (!outerStack || !innerStack) return false;
  const lastApp = outerStack.findLastIndex((layer) => layer.name === 'mounted_app');
  const foreign = (prefix: string) => (layer: Layer) =>
    !own.includes(layer.handle) &&
    !layer.route &&
    layer.name !== 'mounted_app' &&
    !HARMLESS.has(layer.name ?? '') &&
    (!layer.regexp ||
      layer.regexp.fast_slash === true ||
      paths.some((path) => layer.regexp?.test(prefix + path)));
  return lastApp >= 0 && !outerStack.slice(0, lastApp).some(foreign(base)) && !innerStack.some(foreign(''));
}
