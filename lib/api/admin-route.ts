import type { ErrorCode } from '../errors/codes';
import { InputError } from '../errors/errors';

/** As an administrator grants them in Node-RED's `adminAuth`; `read` and `write` there include the first two. */
export type Permission = 'sluice.read' | 'sluice.write' | 'sluice.payload';

/** JSON Schema 2020-12, as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>;

export interface AdminRequest {
  /** Values of the `{name}` parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Parsed JSON of the body, unchecked: `{}` where nothing was sent, null for what isn't JSON. */
  readonly body: unknown;
  /** Whether the user may do what another permission allows: raw payloads need `sluice.payload`. */
  allows(permission: Permission): boolean;
}

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
}

/**
 * One route of the admin API. The table of all of them is what Node-RED serves, and what `/sluice/openapi.json` tells:
 * so the two can't disagree.
 */
export interface AdminRoute {
  readonly method: 'get' | 'post' | 'delete';
  /** Below `/sluice`, with `{name}` for its variable parts: `/queues/{id}/records`. */
  readonly path: string;
  readonly permission: Permission;
  /** A source document gave this path: it is served without `/sluice` too, where `documentPaths` is set. */
  readonly isDocumentPath?: boolean;
  /** For scrapers: with `publicMetrics` it is served beside the webhooks, without a login. */
  readonly isPublic?: boolean;
  readonly summary: string;
  readonly query?: readonly Parameter[];
  readonly body?: Schema;
  /** Of the answer with status 200. */
  readonly answer: Schema;
  /** Text of this media type instead of JSON. */
  readonly contentType?: string;
  /** Error codes that it can answer with. */
  readonly errors?: readonly ErrorCode[];
  /** Gives the answer's body. Throws AdminError for a clear answer that isn't 200. */
  readonly handle: (request: AdminRequest) => unknown;
}

/** An answer of the admin API that isn't 200. */
export class AdminError extends InputError {
  constructor(
    readonly status: 400 | 401 | 404 | 409 | 413 | 422 | 503,
    code: ErrorCode,
    message: string,
  ) {
    super(code, message);
  }
}

/** The body of every such answer. */
export function errorBody({ code, message }: Pick<AdminError, 'code' | 'message'>): object {
  return { ok: false, error: { code, message } };
}

/** A whole number of the query, `fallback` where it has none. Throws AdminError 400 for anything else than `min` to `max`. */
export function wholeNumber(
  query: URLSearchParams,
  name: string,
  { fallback, min, max }: { readonly fallback: number; readonly min: number; readonly max: number },
): number {
  const given = query.get(name);
  if (given === null) return fallback;
  const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new AdminError(400, 'ERR_SLUICE_API_QUERY', `${name} must be a whole number from ${min} to ${max}`);
}

/** `?name=true`. */
export function isAsked(query: URLSearchParams, name: string): boolean {
  return query.get(name) === 'true';
}

/**
 * Whether a scope of Node-RED's users includes a permission, as Node-RED itself decides it. Without `adminAuth` nobody has
 * a scope, and everybody may do everything.
 */
export function permits(scope: unknown, permission: Permission): boolean {
  if (scope === undefined) return true;
  if (Array.isArray(scope))
    return scope.some((each) => typeof each === 'string' && permits(each, permission));
  if (scope === '*' || scope === permission) return true;
  if (scope === 'read' || scope === '*.read') return permission.endsWith('.read');
  return (scope === 'write' || scope === '*.write') && permission.endsWith('.write');
}
