import { timingSafeEqual, createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AdminError, errorBody, permits, type AdminRequest, type AdminRoute } from '../api/admin-route';
import { object, text } from '../api/schemas';
import { openApiDocument } from '../api/openapi';
import type { SluiceSettings } from './settings';
import type { HttpApp, HttpHandler, HttpRequest, NodeRED } from './types';

const ROOT = '/sluice';

/** Serves the admin API once per runtime, behind Node-RED's own permissions; see `AdminRoute`. */
export function mountAdminRoutes(
  RED: NodeRED,
  routes: readonly AdminRoute[],
  settings: Pick<SluiceSettings, 'documentPaths' | 'publicMetrics' | 'readToken'>,
  version: string,
): void {
  const report = (error: unknown) => RED.log.error(`[sluice] the admin API failed: ${String(error)}`);
  const isReader = readerCheck(settings.readToken);
  for (const route of [...routes, openApiRoute(routes, version, adminRootOf(RED))]) {
    const answer = handlerOf(route, report);
    const isPublic = route.isPublic === true && settings.publicMetrics;
    const app = isPublic ? RED.httpNode : RED.httpAdmin;
    const guard = isPublic ? publicGuard(settings.readToken) : guardOf(RED, route, isReader);
    mount(app, route, ROOT + expressPath(route.path), guard, answer);
    // The documents' own paths would shadow users' `http in` nodes, so they are opt-in.
    if (settings.documentPaths && route.isDocumentPath) {
      mount(app, route, expressPath(route.path), guard, answer);
    }
  }
}

const expressPath = (path: string) => path.replace(/\{(\w+)\}/g, ':$1');

function mount(app: HttpApp, { method }: AdminRoute, path: string, ...handlers: HttpHandler[]): void {
  app[method](path, ...handlers);
}

function adminRootOf({ settings }: NodeRED): string {
  const { httpAdminRoot } = settings;
  const root = typeof httpAdminRoot === 'string' ? httpAdminRoot.replace(/\/+$/, '') : '';
  return root + ROOT;
}

function openApiRoute(routes: readonly AdminRoute[], version: string, root: string): AdminRoute {
  const route: AdminRoute = {
    method: 'get',
    path: '/openapi.json',
    permission: 'sluice.read',
    summary: 'This description',
    answer: object({ openapi: text, paths: { type: 'object' } }),
    handle: () => document,
  };
  const document = openApiDocument([...routes, route], version, root);
  return route;
}

/** A token that doesn't expire opens what only reads, so that a scraper needs no login. */
function readerCheck(readToken: string): (req: IncomingMessage) => boolean {
  if (readToken === '') return () => false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = digest(readToken);
  return ({ headers }) => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
    return given !== undefined && timingSafeEqual(digest(given), expected);
  };
}

/** Users whose scope the request carries; a reader's token gives `sluice.read` alone. */
const READER_SCOPE = ['sluice.read'];

function guardOf(
  RED: NodeRED,
  { permission }: AdminRoute,
  isReader: (req: IncomingMessage) => boolean,
): HttpHandler {
  const needed = RED.auth.needsPermission(permission);
  return (req, res, next) => {
    if (permission !== 'sluice.read' || !isReader(req)) return needed(req, res, next);
    req.authInfo = { scope: READER_SCOPE };
    next();
  };
}

function publicGuard(readToken: string): HttpHandler {
  const isReader = readerCheck(readToken);
  return (req, res, next) => {
    if (readToken === '' || isReader(req)) return next();
    write(res, 401, 'application/json', JSON.stringify(errorBody(noToken)));
  };
}

const noToken = new AdminError(401, 'ERR_SLUICE_API_FORBIDDEN', 'a bearer token is needed');
const failed = {
  code: 'ERR_SLUICE_API_FAILED',
  message: 'the answer could not be made; Node-RED’s log says why',
} as const;

function handlerOf({ handle, contentType }: AdminRoute, report: (error: unknown) => void): HttpHandler {
  return (req, res) => {
    const made = new Promise<unknown>((resolve) => resolve(handle(requestOf(req))));
    made
      .then((body) => {
        if (contentType !== undefined) write(res, 200, contentType, String(body));
        else write(res, 200, 'application/json', JSON.stringify(body));
      })
      .catch((error: unknown) => {
        const isAnswer = error instanceof AdminError;
        if (!isAnswer) report(error);
        const [status, body] = isAnswer ? [error.status, errorBody(error)] : [500, errorBody(failed)];
        write(res, status, 'application/json', JSON.stringify(body));
      });
  };
}

function requestOf(req: HttpRequest): AdminRequest {
  return {
    params: req.params ?? {},
    query: new URL(req.url ?? '', 'http://localhost').searchParams,
    body: bodyOf(req),
    allows: (permission) => permits(req.authInfo?.scope, permission),
  };
}

/** Parsed JSON; nothing sent is an empty object, and what isn't JSON is null. */
function bodyOf({ headers, body }: HttpRequest): unknown {
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (isEmpty) return {};
  return /^application\/(?:\S+\+)?json\b/i.test(headers['content-type'] ?? '') ? body : null;
}

function write(res: ServerResponse, status: number, contentType: string, text: string): void {
  if (res.headersSent) return;
  res.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  res.end(text);
}
