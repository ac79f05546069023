// The kinds of apps/v1: rows, defaults, generation.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { ageOf } from '../../../apimachinery/human-duration.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { namedWorkloadWarnings, podTemplateWarnings, templateWarnings } from '../../core/v1/pod-warnings.ts';
import { claimSpecWarnings } from '../../core/v1/volume-warnings.ts';
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
} from '../../generated/types/apps-v1.ts';
import { ageCell, containerCells, labelsCell, nameCell, selectorCell } from '../../meta/row-cells.ts';
import { beginTemplateGeneration, countTemplateGeneration } from './template-generation.ts';
import {
  validateDaemonSetStatus,
  validateDeploymentStatus,
  validateReplicaSetStatus,
  validateStatefulSetStatus,
} from './validate-statuses.ts';
import {
  selectorStays,
  validateControllerRevision,
  validateControllerRevisionUpdate,
  validateDaemonSet,
  validateDeployment,
  validateReplicaSet,
  validateStatefulSet,
  validateStatefulSetUpdate,
} from './validate-workloads.ts';
import {
  daemonSetDefaults,
  deploymentDefaults,
  replicaSetDefaults,
  statefulSetDefaults,
} from './workload-defaults.ts';

const deployment: KindBehaviour<Deployment> = {
  hasGeneration: true,
  strategy: {
    applyDefaults: deploymentDefaults,
    warnings: namedWorkloadWarnings,
    validate: validateDeployment,
    validateUpdate: (o, old, { subresource }) =>
      subresource === 'status' ? validateDeploymentStatus(o, old) : selectorStays(o, old),
    keptByStatus: ['labels'],
  },
  row: (o, now) => [
    nameCell(o),
    `${o.status?.readyReplicas ?? 0}/${o.spec?.replicas ?? 0}`,
    String(o.status?.updatedReplicas ?? 0),
    String(o.status?.availableReplicas ?? 0),
    ageCell(o, now),
    ...containerCells(o.spec?.template),
    selectorCell(o.spec?.selector),
  ],
};

const replicaSet: KindBehaviour<ReplicaSet> = {
  hasGeneration: true,
  strategy: {
    applyDefaults: replicaSetDefaults,
    warnings: namedWorkloadWarnings,
    validate: validateReplicaSet,
    validateUpdate: (o, old, { subresource }) =>
      subresource === 'status' ? validateReplicaSetStatus(o) : selectorStays(o, old),
  },
  selectableFields: (o) => ({ 'status.replicas': String(o.status?.replicas ?? 0) }),
  row: (o, now) => [
    nameCell(o),
    o.spec?.replicas ?? 0,
    o.status?.replicas ?? 0,
    o.status?.readyReplicas ?? 0,
    ageCell(o, now),
    ...containerCells(o.spec?.template),
    selectorCell(o.spec?.selector),
  ],
};

function statefulSetWarnings({ spec = {} }: Decoded<StatefulSet>, old?: Decoded<StatefulSet>): string[] {
  // As upstream writes the two.
  const under = old === undefined ? '' : '.Spec';
  return [
    ...podTemplateWarnings(spec.template),
    ...(spec.volumeClaimTemplates ?? []).flatMap((claim, i) =>
      claimSpecWarnings(claim.spec ?? {}, `spec.volumeClaimTemplates[${i}]${under}`),
    ),
    ...((spec.revisionHistoryLimit ?? 0) < 0
      ? [
          'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
        ]
      : []),
  ];
}

const statefulSet: KindBehaviour<StatefulSet> = {
  hasGeneration: true,
  // Its pods are called after it, and their hosts after them.
  nameRule: dnsLabel,
  strategy: {
    applyDefaults: statefulSetDefaults,
    warnings: statefulSetWarnings,
    validate: validateStatefulSet,
    validateUpdate: (o, old, { subresource }) =>
      subresource === 'status' ? validateStatefulSetStatus(o, old) : validateStatefulSetUpdate(o, old),
  },
  row: (o, now) => [
    nameCell(o),
    `${o.status?.readyReplicas ?? 0}/${o.spec?.replicas ?? 0}`,
    ageCell(o, now),
    ...containerCells(o.spec?.template),
  ],
};

const daemonSet: KindBehaviour<DaemonSet> = {
  hasGeneration: true,
  strategy: {
    applyDefaults: daemonSetDefaults,
    prepareForCreate: beginTemplateGeneration,
    prepareForUpdate(o, old, { subresource }) {
      // The status has no template.
      countTemplateGeneration(o, subresource === '' ? old : { ...old, spec: o.spec ?? {} });
    },
    warnings: templateWarnings,
    validate: validateDaemonSet,
    validateUpdate: (o, old, { subresource }) =>
      subresource === 'status' ? validateDaemonSetStatus(o, old) : selectorStays(o, old),
  },
  row: (o, now) => [
    nameCell(o),
    o.status?.desiredNumberScheduled ?? 0,
    o.status?.currentNumberScheduled ?? 0,
    o.status?.numberReady ?? 0,
    o.status?.updatedNumberScheduled ?? 0,
    o.status?.numberAvailable ?? 0,
    labelsCell(o.spec?.template?.spec?.nodeSelector),
    ageCell(o, now),
    ...containerCells(o.spec?.template),
    selectorCell(o.spec?.selector),
  ],
};

const controllerRevision: KindBehaviour<ControllerRevision> = {
  // Upstream's controllers know the revision of a template by its bytes.
  writtenAsGo: true,
  strategy: { validate: validateControllerRevision, validateUpdate: validateControllerRevisionUpdate },
  row: (o, now) => {
    const owner = (o.metadata?.ownerReferences ?? []).find((r) => r.controller === true);
    const [group = ''] = (owner?.apiVersion ?? '').split('/');
    const kind = (owner?.kind ?? '').toLowerCase();
    const qualified = group === '' || !(owner?.apiVersion ?? '').includes('/') ? kind : `${kind}.${group}`;
    return [
      nameCell(o),
      owner ? `${qualified}/${owner.name ?? ''}` : '<none>',
      String(o.revision ?? 0),
      ageOf(o.metadata?.creationTimestamp, now),
    ];
  },
};

export const appsV1: GroupBehaviours<{
  controllerrevisions: ControllerRevision;
  daemonsets: DaemonSet;
  deployments: Deployment;
  replicasets: ReplicaSet;
  statefulsets: StatefulSet;
}> = {
  controllerrevisions: controllerRevision,
  daemonsets: daemonSet,
  deployments: deployment,
  replicasets: replicaSet,
  statefulsets: statefulSet,
};
