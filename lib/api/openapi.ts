import type { AdminRoute, Schema } from './admin-route';

const ERROR: Schema = {
  type: 'object',
  required: ['ok', 'error'],
  properties: {
    ok: { const: false },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: { code: { type: 'string', pattern: '^ERR_SLUICE_' }, message: { type: 'string' } },
    },
  },
};

const errorAnswer = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});

function parametersOf({ path, query = [] }: AdminRoute): readonly object[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  return [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...query.map((parameter) => ({ ...parameter, in: 'query', required: false })),
  ];
}

function operationOf(route: AdminRoute): object {
  const { summary, permission, answer, body, contentType = 'application/json', errors = [] } = route;
  return {
    summary,
    description: `Needs the permission \`${permission}\`.`,
    parameters: parametersOf(route),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      200: { description: 'As asked for.', content: { [contentType]: { schema: answer } } },
      401: { description: 'No valid token, or one without this permission.' },
      ...(errors.length > 0 && { default: errorAnswer(`Why not: ${errors.join(', ')}`) }),
    },
  };
}

/** The admin API as OpenAPI 3.1; `root` is the URL below which it is served. */
export function openApiDocument(routes: readonly AdminRoute[], version: string, root: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method] = operationOf(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description: 'Queues, sources, sinks and dead letters of one Node-RED.',
    },
    servers: [{ url: root }],
    security: [{ token: [] }, {}],
    paths,
    components: {
      schemas: { Error: ERROR },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}
