// The kind ReplicationController: selector and labels follow the template when they are missing.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { ReplicationController } from '../../generated/types/core-v1.ts';
import { ageCell, containerCells, labelsCell, nameCell } from '../../meta/row-cells.ts';
import { podTemplateDefaults } from './pod-defaults.ts';
import { namedWorkloadWarnings } from './pod-warnings.ts';
import { validateReplicationController } from './validate-small.ts';
import { validateReplicationControllerStatus } from './validate-statuses.ts';

function applyDefaults(rc: Decoded<ReplicationController>): void {
  const s = ensured(rc, 'spec');
  const labels = s.template?.metadata?.labels ?? {};
  if (Object.keys(labels).length > 0) {
    if (Object.keys(s.selector ?? {}).length === 0) s.selector = { ...labels };
    if (Object.keys(rc.metadata?.labels ?? {}).length === 0) ensured(rc, 'metadata').labels = { ...labels };
  }
  s.replicas ??= 1;
  podTemplateDefaults(rc.spec?.template);
}

export const replicationController: KindBehaviour<ReplicationController> = {
  hasGeneration: true,
  row: (o, now) => [
    nameCell(o),
    o.spec?.replicas ?? 0,
    o.status?.replicas ?? 0,
    o.status?.readyReplicas ?? 0,
    ageCell(o, now),
    ...containerCells(o.spec?.template),
    labelsCell(o.spec?.selector),
  ],
  selectableFields: (o) => ({ 'status.replicas': String(o.status?.replicas ?? 0) ?? '' }),
  strategy: {
    applyDefaults,
    validate: validateReplicationController,
    warnings: namedWorkloadWarnings,
    validateUpdate: (o, _old, { subresource }) =>
      subresource === 'status' ? validateReplicationControllerStatus(o) : [],
    defaultGarbageCollection: 'orphan',
  },
};
