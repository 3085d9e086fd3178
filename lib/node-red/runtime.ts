import { createLineage } from '../delivery/lineage/lineage';
import type { Lineage } from '../delivery/lineage/contract';
import { Registry } from '../delivery/registry';
import { openInbox } from '../inbox/inbox';
import { createMetrics, type Metrics } from '../metrics/metrics';
import { Quota } from '../quota/quota';
import { mountAdminRoutes } from './admin-routes';
import { HttpFront } from './http-front';
import { readSettings, type SluiceSettings } from './settings';
import { SharedInbox } from './shared-inbox';
import type { FlowsEvent, NodeRED } from './types';

const MB = 1024 * 1024;

/** What all our nodes in one Node-RED runtime share. */
export interface SluiceRuntime {
  readonly settings: SluiceSettings;
  readonly registry: Registry;
  readonly lineage: Lineage;
  readonly metrics: Metrics;
  readonly front: HttpFront;
  /** Bytes of request bodies that are being read, for all sources together. */
  readonly bodyBudget: Quota;
  readonly inbox: SharedInbox;
}

/** On the runtime's events object, so that a second copy of this package in the same runtime finds the first's. */
const KEY = Symbol.for('@sluice/node-red/runtime');

/** The one runtime of this Node-RED; made when the first of our nodes loads. Throws ConfigError for bad settings. */
export function runtimeOf(RED: NodeRED): SluiceRuntime {
  const host = RED.events as typeof RED.events & { [KEY]?: SluiceRuntime };
  return (host[KEY] ??= createRuntime(RED));
}

function createRuntime(RED: NodeRED): SluiceRuntime {
  const settings = readSettings(RED.settings);
  const registry = new Registry({ subflowReach: settings.subflowReach });
  const front = new HttpFront(RED, () => registry.ready);
  const lineage = createLineage({
    hooks: RED.hooks,
    events: RED.events,
    getNode: (id) => RED.nodes.getNode(id),
    generateId: () => RED.util.generateId(),
    onFault: (fault) => RED.log.error(`sluice lineage: ${String(fault)}`),
  });
  // Before the registry's listeners: what those resume is followed from its first message on.
  lineage.install();
  RED.events.on('flows:stopping', () => registry.flowsStopping());
  RED.events.on('flows:started', ({ config }: FlowsEvent) => {
    front.refresh();
    registry.flowsStarted(config.flows);
  });
  mountAdminRoutes(RED, registry, settings);
  return {
    settings,
    registry,
    lineage,
    metrics: createMetrics({ aliases: settings.metricAliases }),
    front,
    bodyBudget: new Quota(settings.bodyBudgetMb * MB),
    inbox: new SharedInbox(() =>
      openInbox({
        dataDir: settings.dataDir,
        quotaBytes: settings.inboxQuotaMb * MB,
        now: Date.now,
      }),
    ),
  };
}
