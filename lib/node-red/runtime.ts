import { AlertCentre } from '../alert/alert-centre';
import { PART_OF_RUNTIME } from '../alert/alert-text';
import { ledgerDocument } from '../api/ledger-document';
import { healthRoutes } from '../api/routes/health.routes';
import { deadLetterRoutes } from '../api/routes/dead-letters.routes';
import { queueRoutes } from '../api/routes/queues.routes';
import { ruleRoutes } from '../api/routes/rules.routes';
import { statusRoutes } from '../api/routes/status.routes';
import { statusDocument, type StatusDocument } from '../api/status-document';
import { packageVersion } from '../config/package-version';
import { createLineage } from '../delivery/lineage/lineage';
import type { Lineage } from '../delivery/lineage/contract';
import { LeftBehind } from '../delivery/left-behind';
import { Registry } from '../delivery/registry';
import { openInbox } from '../inbox/inbox';
import { createMetrics, type Metrics } from '../metrics/metrics';
import { Quota } from '../quota/quota';
import { mountAdminRoutes } from './admin-routes';
import { Deploys } from './deploys';
import type { DeadLetters } from './dead-letters';
import { LedgerWatch } from './ledger-watch';
import { HttpFront } from './http-front';
import { alertedInbox } from './inbox-alerts';
import { keepFailuresIn } from './input';
import { lateSendReporter } from './late-sends';
import { openDeadLetters } from './open-dead-letters';
import { readSettings, type SluiceSettings } from './settings';
import { SharedInbox } from './shared-inbox';
import type { FlowsEvent, NodeRED } from './types';
import { asyncStoresOf, UntrackableNodes } from './untrackable-nodes';

const MB = 1024 * 1024;
/** How often the alert centre looks at every queue; a fault is told of at once. */
const ALERT_CHECK_MS = 5000;

/** What all our nodes in one Node-RED runtime share. */
export interface SluiceRuntime {
  readonly settings: SluiceSettings;
  readonly registry: Registry;
  readonly lineage: Lineage;
  readonly metrics: Metrics;
  /** The one way to tell of what is wrong: bounded queues, losses, faults. */
  readonly alerts: AlertCentre;
  /** Where records go that can never work. Our nodes' failures get there by themselves. */
  readonly deadLetters: DeadLetters;
  /** How everything is doing: the document of `GET /sluice/api/status`. */
  status(): StatusDocument;
  readonly front: HttpFront;
  readonly leftBehind: LeftBehind;
  /** Bytes of request bodies that are being read, for all sources together. */
  readonly bodyBudget: Quota;
  readonly inbox: SharedInbox;
  readonly deploys: Deploys;
}

/** On the runtime's events object, so that a second copy of this package in the same runtime finds the first's. */
const KEY = Symbol.for('@sluice/node-red/runtime');

/** The one runtime of this Node-RED; made when the first of our nodes loads. Throws ConfigError for bad settings. */
export function runtimeOf(RED: NodeRED): SluiceRuntime {
  const host = RED.events as typeof RED.events & { [KEY]?: SluiceRuntime };
  const runtime = (host[KEY] ??= createRuntime(RED));
  // This copy's nodes fail through this copy's `onInput`.
  keepFailuresIn(runtime.deadLetters);
  return runtime;
}

function createRuntime(RED: NodeRED): SluiceRuntime {
  const settings = readSettings(RED.settings);
  const getNode = (id: string) => RED.nodes.getNode(id);
  const asyncStores = asyncStoresOf(RED.settings);
  const untrackable = new UntrackableNodes(getNode, asyncStores);
  const registry: Registry = new Registry({
    subflowReach: settings.subflowReach,
    asyncStores,
    untrackableLive: (id) => untrackable.notesAt(id),
    barrier: (tabs) => deadLetters.room.barrier(tabs),
  });
  const front = new HttpFront(RED, () => registry.ready);
  const lineage = createLineage({
    hooks: RED.hooks,
    events: RED.events,
    getNode,
    generateId: () => RED.util.generateId(),
    asyncStores,
    packagedConfigs: (flows) => untrackable.packagedConfigs(flows),
    onFault: (fault) => RED.log.error(`sluice lineage: ${String(fault)}`),
  });
  const leftBehind = new LeftBehind();
  const deploys = new Deploys(RED.events);
  // Before the registry's listeners: what those resume is followed from its first message on.
  lineage.install();
  RED.events.on('flows:stopping', () => registry.flowsStopping());
  RED.events.on('flows:started', ({ config }: FlowsEvent) => {
    front.refresh();
    deadLetters.flowsStarted(config.flows);
    registry.flowsStarted(config.flows);
    alerts.deployed();
    for (const text of leftBehind.told()) RED.log.warn(`[sluice] ${text}`);
  });
  const metrics = createMetrics({ aliases: settings.metricAliases });
  const alerts = createAlerts(RED, metrics);
  const ledger = new LedgerWatch(registry, alerts, () => performance.now());
  metrics.watchLedger(() => ledgerDocument(registry.sources).sources);
  setInterval(() => {
    ledger.look();
    alerts.check();
  }, ALERT_CHECK_MS).unref();
  const runtimePlace = alerts.place({ id: 'runtime', name: 'the runtime', type: PART_OF_RUNTIME });
  lineage.onLate(
    lateSendReporter({
      sourceName: (id) => registry.sources.find((source) => source.id === id)?.name,
      getNode,
      count: (source) => metrics.lateSend(source),
      placeOf: (id) => alerts.about(id) ?? runtimePlace,
    }),
  );
  const deadLetters = openDeadLetters(RED, { settings, registry, lineage, metrics, alerts, deploys });
  const counts = () => ({ lateSends: lineage.lateSends, unrouted: lineage.unrouted + front.unknown });
  const routes = [
    ...statusRoutes({ registry, alerts, counts }),
    ...healthRoutes({ registry, alerts, metrics }),
    ...queueRoutes({ registry }),
    ...ruleRoutes({ room: deadLetters.room }),
    ...deadLetterRoutes(deadLetters),
  ];
  mountAdminRoutes(RED, routes, settings, packageVersion());
  return {
    settings,
    registry,
    lineage: deadLetters.keeping(lineage),
    metrics,
    alerts,
    deadLetters,
    status: () => statusDocument(registry, counts(), alerts.open()),
    front,
    leftBehind,
    bodyBudget: new Quota(settings.bodyBudgetMb * MB),
    inbox: new SharedInbox(
      alertedInbox(alerts.place({ id: 'inbox', name: 'the inbox', type: PART_OF_RUNTIME }), () =>
        openInbox({
          dataDir: settings.dataDir,
          quotaBytes: settings.inboxQuotaMb * MB,
          now: Date.now,
          minFreeBytes: settings.minFreeDiskMb * MB,
        }),
      ),
      () => deploys.underway,
    ),
    deploys,
  };
}

function createAlerts(RED: NodeRED, metrics: Metrics): AlertCentre {
  const levels = { info: 'info', warning: 'warn', critical: 'error' } as const;
  return new AlertCentre({
    now: () => performance.now(),
    wallClock: Date.now,
    translate: (key, values) => RED._(key, values),
    // Not by the nodes: a node's error without a message would reach catch nodes, and no record has failed.
    log: (severity, text) => RED.log[levels[severity]](`[sluice] ${text}`),
    raised: (level) => metrics.alertRaised(level),
    dropped: (place, reason, records) => metrics.recordsDropped(place, reason, records),
  });
}
