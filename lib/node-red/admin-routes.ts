import { statusDocument } from '../api/status-document';
import type { RuntimeLineage } from '../delivery/lineage/runtime-lineage';
import type { Registry } from '../delivery/registry';
import type { SluiceSettings } from './settings';
import type { HttpHandler, NodeRED } from './types';

const json =
  (document: () => unknown): HttpHandler =>
  (_req, res) => {
    const text = JSON.stringify(document());
    res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    res.end(text);
  };

/** Mounts the admin documents once per runtime, behind Node-RED's own permissions. */
export function mountAdminRoutes(
  RED: NodeRED,
  registry: Registry,
  lineage: Pick<RuntimeLineage, 'lateSends'>,
  settings: SluiceSettings,
): void {
  const read = RED.auth.needsPermission('sluice.read');
  const status = json(() =>
    statusDocument(registry.ready, registry.sinks, registry.sources, lineage.lateSends),
  );
  RED.httpAdmin.get('/sluice/api/status', read, status);
  // The documents' own paths would shadow users' `http in` nodes, so they are opt-in.
  if (settings.documentPaths) RED.httpAdmin.get('/api/status', read, status);

  RED.httpAdmin.get('/sluice/api/reach/:id', read, (req, res, next) => {
    const reached = registry.reachOf(req.params?.['id'] ?? '');
    if (!reached) {
      res.writeHead(404, { 'content-type': 'application/json' });
      res.end(
        JSON.stringify({
          ok: false,
          error: { code: 'ERR_SLUICE_SOURCE_UNKNOWN', message: 'no such source' },
        }),
      );
      return;
    }
    const { sinks, certain, conservative, why, untrackable, notAnalysed } = reached;
    json(() => ({ sinks, certain, conservative, why, untrackable, not_analysed: notAnalysed }))(
      req,
      res,
      next,
    );
  });
}
