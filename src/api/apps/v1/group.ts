// The kinds of apps/v1: rows, defaults, generation.
import { ageOf } from '../../../apimachinery/human-duration.ts';
import { meta, num, obj, objs, spec, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { templateWarnings } from '../../core/v1/pod-warnings.ts';
import { ageCell, containerCells, labelsCell, nameCell, selectorCell } from '../../meta/row-cells.ts';
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
  count,
  daemonSetDefaults,
  deploymentDefaults,
  replicaSetDefaults,
  statefulSetDefaults,
} from './workload-defaults.ts';

const deployment: KindBehaviour = {
  hasGeneration: true,
  strategy: {
    applyDefaults: deploymentDefaults,
    warnings: templateWarnings,
    validate: validateDeployment,
    validateUpdate: selectorStays,
  },
  row: (o, now) => [
    nameCell(o),
    `${count(o, 'readyReplicas')}/${num(spec(o)['replicas'])}`,
    String(count(o, 'updatedReplicas')),
    String(count(o, 'availableReplicas')),
    ageCell(o, now),
    ...containerCells(spec(o)['template']),
    selectorCell(spec(o)['selector']),
  ],
};

const replicaSet: KindBehaviour = {
  hasGeneration: true,
  strategy: {
    applyDefaults: replicaSetDefaults,
    warnings: templateWarnings,
    validate: validateReplicaSet,
    validateUpdate: selectorStays,
  },
  selectableFields: (o) => ({ 'status.replicas': String(count(o, 'replicas')) }),
  row: (o, now) => [
    nameCell(o),
    num(spec(o)['replicas']),
    count(o, 'replicas'),
    count(o, 'readyReplicas'),
    ageCell(o, now),
    ...containerCells(spec(o)['template']),
    selectorCell(spec(o)['selector']),
  ],
};

const statefulSet: KindBehaviour = {
  hasGeneration: true,
  strategy: {
    applyDefaults: statefulSetDefaults,
    warnings: templateWarnings,
    validate: validateStatefulSet,
    validateUpdate: validateStatefulSetUpdate,
  },
  row: (o, now) => [
    nameCell(o),
    `${count(o, 'readyReplicas')}/${num(spec(o)['replicas'])}`,
    ageCell(o, now),
    ...containerCells(spec(o)['template']),
  ],
};

const daemonSet: KindBehaviour = {
  hasGeneration: true,
  strategy: {
    applyDefaults: daemonSetDefaults,
    warnings: templateWarnings,
    validate: validateDaemonSet,
    validateUpdate: selectorStays,
  },
  row: (o, now) => [
    nameCell(o),
    count(o, 'desiredNumberScheduled'),
    count(o, 'currentNumberScheduled'),
    count(o, 'numberReady'),
    count(o, 'updatedNumberScheduled'),
    count(o, 'numberAvailable'),
    labelsCell(obj(obj(spec(o)['template'])['spec'])['nodeSelector']),
    ageCell(o, now),
    ...containerCells(spec(o)['template']),
    selectorCell(spec(o)['selector']),
  ],
};

const controllerRevision: KindBehaviour = {
  strategy: { validate: validateControllerRevision, validateUpdate: validateControllerRevisionUpdate },
  row: (o, now) => {
    const owner = objs(meta(o)['ownerReferences']).find((r) => r['controller'] === true);
    const [group = ''] = str(owner?.['apiVersion']).split('/');
    const kind = str(owner?.['kind']).toLowerCase();
    const qualified = group === '' || !str(owner?.['apiVersion']).includes('/') ? kind : `${kind}.${group}`;
    return [
      nameCell(o),
      owner ? `${qualified}/${str(owner['name'])}` : '<none>',
      String(num(o['revision'])),
      ageOf(meta(o)['creationTimestamp'], now),
    ];
  },
};

export const appsV1: GroupBehaviours = {
  controllerrevisions: controllerRevision,
  daemonsets: daemonSet,
  deployments: deployment,
  replicasets: replicaSet,
  statefulsets: statefulSet,
};
