import type { AlertCentre } from '../alert/alert-centre';
import type { AlertPlace } from '../alert/alert-place';
import { PART_OF_RUNTIME } from '../alert/alert-text';
import { letterFileIn, openLetterStore } from '../dead-letter/letter-store';
import { DeadLetterRoom } from '../dead-letter/room';
import { Rules, type Rule } from '../dead-letter/rules';
import { SharedLetters } from '../dead-letter/shared-letters';
import type { RuntimeLineage } from '../delivery/lineage/runtime-lineage';
import type { Registry } from '../delivery/registry';
import { StoreError } from '../errors/errors';
import type { Metrics } from '../metrics/metrics';
import { DeadLetters } from './dead-letters';
import type { Deploys } from './deploys';
import type { SluiceSettings } from './settings';
import type { NodeRED } from './types';

interface Parts {
  readonly settings: Pick<SluiceSettings, 'dataDir'>;
  readonly registry: Registry;
  readonly lineage: RuntimeLineage;
  readonly metrics: Metrics;
  readonly alerts: AlertCentre;
  readonly deploys: Deploys;
}

/** Makes the runtime's dead-letter room; its file is open while flows run. */
export function openDeadLetters(
  RED: NodeRED,
  { settings, registry, lineage, metrics, alerts, deploys }: Parts,
): DeadLetters {
  const place = alerts.place({ id: 'dead-letters', name: 'the dead letters', type: PART_OF_RUNTIME });
  const letters = new SharedLetters({
    file: letterFileIn(settings.dataDir),
    open: () =>
      openLetterStore({
        dataDir: settings.dataDir,
        now: Date.now,
        onTrimmed: (_place, records) => place.lost('dead_trimmed', records),
      }),
    onHealth(fault) {
      if (fault) place.raise('fault', fault);
      else place.clear('fault');
    },
    onOpened({ quarantined }) {
      room.announceHalts();
      if (!quarantined) return;
      const { file, saved } = quarantined;
      const text = `the file was damaged: ${saved} dead letters were saved from it, more may be in ${file}`;
      place.happened(
        'fault',
        'ERR_SLUICE_DLQ_CORRUPT',
        new StoreError('ERR_SLUICE_DLQ_CORRUPT', text).message,
      );
    },
  });
  const places = new Map<string, AlertPlace>();
  const placeOf = ({ id, label }: Rule): AlertPlace => {
    let known = places.get(id);
    if (!known) {
      known = alerts.place({ id: `rule ${id}`, name: `rule "${label}"`, type: PART_OF_RUNTIME, z: id });
      places.set(id, known);
    }
    return known;
  };
  const room = new DeadLetterRoom({ letters, rules: new Rules(), metrics, placeOf, now: Date.now });
  RED.events.on('flows:stopped', () => {
    if (!deploys.underway) letters.rest();
  });
  return new DeadLetters({
    room,
    lineage,
    getNode: (id) => RED.nodes.getNode(id),
    isSink: (id) => registry.isSink(id),
    tellRedrive: (progress) => RED.events.emit('sluice:redrive', progress),
    declareRule: (label) => metrics.declareRule(label),
  });
}
