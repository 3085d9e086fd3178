import { readConfig } from '#lib/config/read-config';
import { bearerCheck } from '#lib/api/bearer';
import { InputError } from '#lib/errors/errors';
import { openDoor, startHttpSource, type HttpSourceParts } from '#lib/node-red/http-source';
import type { NodeRED, RuntimeNode } from '#lib/node-red/types';
import { credentials, fields, problemsOf, type IngestApiConfig } from './ingest-api.config';

/** Throws ConfigError for properties or a token that can't work. */
function describe(config: IngestApiConfig, node: RuntimeNode): HttpSourceParts {
  const check = bearerCheck(node.credentials?.['token']);
  return {
    path: `/api/ingest/${config.source}`,
    takesId: true,
    name: config.name || config.source,
    config,
    fields: { source: config.source },
    door: {
      greet: (req) => check(req.headers.authorization),
      identify(req, _body, id) {
        const key = req.headers['idempotency-key'];
        if (typeof key === 'string' && key !== '') return key;
        // One key for all that come without would make them duplicates of each other.
        if (id === '') throw new InputError('ERR_SLUICE_INGEST_ID_MISSING', 'the path ends without an id');
        return id;
      },
    },
  };
}

export = function register(RED: NodeRED): void {
  openDoor(RED);
  function IngestApiNode(this: RuntimeNode, saved: { readonly source?: string }): void {
    RED.nodes.createNode(this, saved);
    const named = { path: `/api/ingest/${saved.source ?? ''}`, takesId: true };
    startHttpSource(RED, this, named, () => describe(readConfig(fields, saved, problemsOf), this));
  }
  RED.nodes.registerType('ingest-api', IngestApiNode, { credentials });
};
