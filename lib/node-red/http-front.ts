/**
 * The public HTTP door on Node-RED's own server.
 *
 * A signature covers the exact bytes of a body, but with default roots Node-RED's admin app parses JSON before any
 * `httpNode` route runs. So a layer at the top of the root app looks at each request first. Where nothing stands
 * between the socket and our route (no auth, middleware or CORS set up for httpNode, only Node-RED's own apps mounted)
 * it answers right there, which saves Express two thirds of a request. Otherwise it only marks the body as taken and
 * lets the request run through all of that to the layer on httpNode.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { flowRetryLater, onlyPost, rawBodyUnavailable, send, unknownPath } from '../api/answers';
import { ConfigError } from '../errors/errors';
import { appStack, isTransparent, rootApp, type ExpressApp } from './express-stack';
import type { HttpHandler, HttpRequest, NodeRED } from './types';

/** Takes over a POST whose body is still unread; `tail` is the path segment behind the mounted path, or ''. */
export type Endpoint = (req: IncomingMessage, res: ServerResponse, tail: string) => void;

/** A path that a node names, below httpNodeRoot, and whether a record's id may follow it. */
export interface NamedPath {
  readonly path: string;
  readonly takesId: boolean;
}

interface Mounted {
  readonly endpoint: Endpoint;
  readonly takesTail: boolean;
}

const PREFIXES = ['/api/hooks/', '/api/ingest/'];

type Marked = HttpRequest & { originalUrl?: string; _body?: boolean; skipRawBodyParser?: boolean };

export class HttpFront {
  /** Records sent to a path of ours that no source serves, since the start. */
  unknown = 0;
  readonly #endpoints = new Map<string, Mounted>();
  /** Paths of nodes that could not start, each with how many name it; with a slash at the end: what is below it. */
  readonly #heldOff = new Map<string, number>();
  readonly #base: string;
  #direct = false;
  #onHttpNode = false;

  /** `isReady` tells whether the deployed flow is running; while it isn't, an unknown path may be about to exist. */
  constructor(
    private readonly RED: NodeRED,
    private readonly isReady: () => boolean,
  ) {
    this.#base = typeof RED.httpNode === 'function' ? RED.httpNode.path().replace(/\/+$/, '') : '';
  }

  /**
   * Serves POST on `path` (below httpNodeRoot), and with `takesTail` on one more segment behind it. Returns its removal. Throws ConfigError when the path is taken or
   * Node-RED serves no HTTP for nodes.
   */
  mount(path: string, endpoint: Endpoint, takesTail = false): () => void {
    if (this.RED.settings.httpNodeRoot === false || typeof this.RED.httpNode !== 'function') {
      throw new ConfigError(
        'ERR_SLUICE_HTTP_DISABLED',
        'httpNodeRoot is false in settings.js: nodes can serve no HTTP',
      );
    }
    if (this.#endpoints.has(path)) {
      throw new ConfigError('ERR_SLUICE_HTTP_PATH_TAKEN', `another node already serves ${path}`);
    }
    const mounted = { endpoint, takesTail };
    this.#endpoints.set(path, mounted);
    const isFirst = this.#endpoints.size === 1;
    // Only of this path: all of them each time would take seconds with thousands of sources.
    this.#direct = this.#place() && (isFirst || this.#direct) && this.#isClear([path]);
    return () => {
      if (this.#endpoints.get(path) === mounted) this.#endpoints.delete(path);
    };
  }

  /**
   * For a node that could not start: senders to its `path` are asked to come back instead of told that there is
   * nothing, for which they would drop the record. Where another node serves the path, that one goes on. Returns its
   * removal.
   */
  holdOff({ path, takesId }: NamedPath): () => void {
    // A node without a name names no path, and mustn't stand for all that is below the prefix.
    if (path.endsWith('/')) return () => undefined;
    const key = takesId ? `${path}/` : path;
    this.#heldOff.set(key, (this.#heldOff.get(key) ?? 0) + 1);
    return () => {
      const others = (this.#heldOff.get(key) ?? 1) - 1;
      if (others > 0) this.#heldOff.set(key, others);
      else this.#heldOff.delete(key);
    };
  }

  /** The address of a path for people: without host, as this Node-RED serves it. */
  urlOf(path: string): string {
    return this.#base + path;
  }

  /** Puts the layers where they belong; apps and middleware may have been added since. Called at each deploy. */
  refresh(): void {
    this.#direct = this.#place() && this.#isClear([...this.#endpoints.keys()]);
  }

  /** False where there is no root app to stand in front of. */
  #place(): boolean {
    const httpNode = this.RED.httpNode as unknown as ExpressApp;
    if (!this.#onHttpNode) {
      this.#onHttpNode = true;
      httpNode.use(this.#behindMiddleware);
    }
    const root = rootApp(httpNode);
    const stack = appStack(root);
    if (!stack || root === httpNode) return false;
    if (!stack.some((layer) => layer.handle === this.#first)) root.use(this.#first);
    const at = stack.findIndex((layer) => layer.handle === this.#first);
    const [own] = stack.splice(at, 1);
    if (own) stack.unshift(own);
    return true;
  }

  /** Whether a request on one of these paths may be answered at the top. */
  #isClear(paths: readonly string[]): boolean {
    const httpNode = this.RED.httpNode as unknown as ExpressApp;
    const { httpNodeAuth, httpNodeMiddleware, httpNodeCors, httpAdminMiddleware } = this.RED.settings;
    if (httpNodeAuth || httpNodeMiddleware || httpNodeCors || httpAdminMiddleware) return false;
    const inside = paths.flatMap((path) => [path, `${path}/record`]);
    const own = [this.#first, this.#behindMiddleware];
    return isTransparent(rootApp(httpNode), httpNode, own, this.#base, inside);
  }

  /** Top of the root app. */
  readonly #first = (req: Marked, res: ServerResponse, next: () => void): void => {
    const path = this.#ownPath(req.url ?? '');
    if (path === undefined) return next();
    if (this.#direct) return this.#serve(path, req, res, next);
    req._body = true;
    req.skipRawBodyParser = true;
    next();
  };

  /** On httpNode, behind its authentication. */
  readonly #behindMiddleware = (req: Marked, res: ServerResponse, next: (error?: unknown) => void): void => {
    const path = this.#ownPath(req.originalUrl ?? req.url ?? '');
    if (path === undefined) return next();
    this.#throughMiddleware(req, res, (error) => (error ? next(error) : this.#serve(path, req, res, next)));
  };

  #serve(path: string, req: Marked, res: ServerResponse, next: () => void): void {
    const exact = this.#endpoints.get(path);
    const cut = path.lastIndexOf('/');
    const above = exact ? undefined : this.#endpoints.get(path.slice(0, cut));
    const mounted = exact ?? (above?.takesTail ? above : undefined);
    if (!mounted) {
      if (!this.isReady()) return send(res, flowRetryLater);
      if (this.#isHeldOff(path) && !this.#servedByOthers(path)) {
        return send(res, req.method === 'POST' ? flowRetryLater : onlyPost);
      }
      // Without a source of ours the name space isn't ours either.
      if (this.#endpoints.size === 0 || this.#servedByOthers(path)) return next();
      if (req.method === 'POST') this.unknown += 1;
      return send(res, unknownPath);
    }
    if (req.method !== 'POST') return send(res, onlyPost);
    if (req.readableDidRead) return send(res, rawBodyUnavailable);
    mounted.endpoint(req, res, exact ? '' : path.slice(cut + 1));
  }

  /** The request's path below httpNodeRoot if it is in our name space. */
  #ownPath(url: string): string | undefined {
    const whole = pathOf(url);
    if (!whole.startsWith(this.#base)) return undefined;
    const path = whole.slice(this.#base.length);
    if (!PREFIXES.some((prefix) => path.startsWith(prefix))) return undefined;
    return path.endsWith('/') ? path.slice(0, -1) : path;
  }

  #isHeldOff(path: string): boolean {
    const above = path.slice(0, path.lastIndexOf('/') + 1);
    return this.#heldOff.has(path) || this.#heldOff.has(`${path}/`) || this.#heldOff.has(above);
  }

  #servedByOthers(path: string): boolean {
    const stack = appStack(this.RED.httpNode) ?? [];
    return stack.some((layer) => layer.route && layer.regexp?.test(path));
  }

  #throughMiddleware(req: HttpRequest, res: ServerResponse, next: (error?: unknown) => void): void {
    const { httpNodeMiddleware, httpNodeCors } = this.RED.settings;
    const steps: HttpHandler[] = [];
    if (httpNodeCors) steps.push(corsHandler(httpNodeCors));
    for (const step of [httpNodeMiddleware].flat())
      if (typeof step === 'function') steps.push(step as HttpHandler);
    const run = (index: number) => (error?: unknown) => {
      const step = steps[index];
      if (error || !step) return next(error);
      step(req, res, run(index + 1));
    };
    run(0)();
  }
}

const SCHEME_AND_HOST = /^https?:\/\/[^/?#]*/i;
const ESCAPED = /%[0-9a-f]{2}/gi;
const UNRESERVED = /[A-Za-z0-9._~-]/;

/**
 * The path of a request target, without its query. A proxy may send the whole URL (RFC 9112 3.2.2), and a client may
 * escape characters that need it not, which makes no difference (RFC 3986 6.2.2.2).
 */
function pathOf(target: string): string {
  const from = target.startsWith('/') ? target : target.replace(SCHEME_AND_HOST, '');
  const end = from.indexOf('?');
  const path = end < 0 ? from : from.slice(0, end);
  if (!path.includes('%')) return path;
  return path.replace(ESCAPED, (escaped) => {
    const char = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return UNRESERVED.test(char) ? char : escaped;
  });
}

function corsHandler(options: unknown): HttpHandler {
  // Loaded only where settings.js asks for it: idle installations shouldn't pay for it.
  const cors = require('cors') as (options: unknown) => HttpHandler;
  return cors(options);
}
