// The kind ReplicationController: selector and labels follow the template when they are missing.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { ensure, meta, num, obj, setDefault, spec, status, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, containerCells, labelsCell, nameCell } from '../../meta/row-cells.ts';
import { specTemplateDefaults } from './pod-defaults.ts';
import { validateReplicationController } from './validate-small.ts';

function applyDefaults(rc: JsonObject): void {
  const s = ensure(rc, 'spec');
  const labels = obj(obj(obj(s['template'])['metadata'])['labels']);
  if (Object.keys(labels).length > 0) {
    if (Object.keys(obj(s['selector'])).length === 0) s['selector'] = { ...labels };
    if (Object.keys(obj(meta(rc)['labels'])).length === 0) ensure(rc, 'metadata')['labels'] = { ...labels };
  }
  setDefault(s, 'replicas', 1);
  specTemplateDefaults(rc);
}

export const replicationController: KindBehaviour = {
  hasGeneration: true,
  row: (o, now) => [
    nameCell(o),
    num(spec(o)['replicas']),
    num(status(o)['replicas']),
    num(status(o)['readyReplicas']),
    ageCell(o, now),
    ...containerCells(spec(o)['template']),
    labelsCell(spec(o)['selector']),
  ],
  selectableFields: (o) => ({ 'status.replicas': str(String(num(status(o)['replicas']))) }),
  strategy: { applyDefaults, validate: validateReplicationController, defaultGarbageCollection: 'orphan' },
};
