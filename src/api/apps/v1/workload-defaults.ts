// Defaults of Deployment, ReplicaSet, StatefulSet and DaemonSet, as upstream's apps/v1 defaults.go.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import {
  ensure,
  isObject,
  meta,
  num,
  obj,
  objs,
  setDefault,
  spec,
  str,
} from '../../../apimachinery/json-access.ts';
import { specTemplateDefaults } from '../../core/v1/pod-defaults.ts';

export function deploymentDefaults(deployment: JsonObject): void {
  const s = ensure(deployment, 'spec');
  setDefault(s, 'replicas', 1);
  const strategy = ensure(s, 'strategy');
  if (str(strategy['type']) === '') strategy['type'] = 'RollingUpdate';
  if (strategy['type'] === 'RollingUpdate') {
    const rolling = ensure(strategy, 'rollingUpdate');
    setDefault(rolling, 'maxUnavailable', '25%');
    setDefault(rolling, 'maxSurge', '25%');
  }
  setDefault(s, 'revisionHistoryLimit', 10);
  setDefault(s, 'progressDeadlineSeconds', 600);
  specTemplateDefaults(deployment);
}

export function replicaSetDefaults(replicaSet: JsonObject): void {
  setDefault(ensure(replicaSet, 'spec'), 'replicas', 1);
  const labels = obj(obj(obj(spec(replicaSet)['template'])['metadata'])['labels']);
  if (Object.keys(labels).length > 0 && Object.keys(obj(meta(replicaSet)['labels'])).length === 0)
    ensure(replicaSet, 'metadata')['labels'] = { ...labels };
  specTemplateDefaults(replicaSet);
}

export function statefulSetDefaults(statefulSet: JsonObject): void {
  const s = ensure(statefulSet, 'spec');
  if (str(s['podManagementPolicy']) === '') s['podManagementPolicy'] = 'OrderedReady';
  const strategy = ensure(s, 'updateStrategy');
  if (str(strategy['type']) === '') strategy['type'] = 'RollingUpdate';
  if (strategy['type'] === 'RollingUpdate') setDefault(ensure(strategy, 'rollingUpdate'), 'partition', 0);
  const retention = ensure(s, 'persistentVolumeClaimRetentionPolicy');
  if (str(retention['whenDeleted']) === '') retention['whenDeleted'] = 'Retain';
  if (str(retention['whenScaled']) === '') retention['whenScaled'] = 'Retain';
  setDefault(s, 'replicas', 1);
  setDefault(s, 'revisionHistoryLimit', 10);
  for (const claim of objs(s['volumeClaimTemplates'])) {
    // Claims of a template are whole objects: kind and version are written out, as upstream.
    setDefault(claim, 'apiVersion', 'v1');
    setDefault(claim, 'kind', 'PersistentVolumeClaim');
    setDefault(ensure(claim, 'spec'), 'volumeMode', 'Filesystem');
    setDefault(ensure(claim, 'status'), 'phase', 'Pending');
  }
  specTemplateDefaults(statefulSet);
}

export function daemonSetDefaults(daemonSet: JsonObject): void {
  const s = ensure(daemonSet, 'spec');
  const strategy = ensure(s, 'updateStrategy');
  if (str(strategy['type']) === '') strategy['type'] = 'RollingUpdate';
  if (strategy['type'] === 'RollingUpdate') {
    const rolling = ensure(strategy, 'rollingUpdate');
    setDefault(rolling, 'maxUnavailable', 1);
    setDefault(rolling, 'maxSurge', 0);
  }
  setDefault(s, 'revisionHistoryLimit', 10);
  specTemplateDefaults(daemonSet);
}

/** True when the object's own status is missing a count: rows print zero. */
export const count = (object: JsonObject, field: string): number =>
  isObject(object['status']) ? num(object['status'][field]) : 0;
