// Defaults of Deployment, ReplicaSet, StatefulSet and DaemonSet, as upstream's apps/v1 defaults.go.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import { podTemplateDefaults } from '../../core/v1/pod-defaults.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../../generated/types/apps-v1.ts';
import { defaultTemplateGeneration } from './template-generation.ts';

export function deploymentDefaults(deployment: Decoded<Deployment>): void {
  const s = ensured(deployment, 'spec');
  s.replicas ??= 1;
  const strategy = ensured(s, 'strategy');
  if (!strategy.type) strategy.type = 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    const rolling = ensured(strategy, 'rollingUpdate');
    rolling.maxUnavailable ??= '25%';
    rolling.maxSurge ??= '25%';
  }
  s.revisionHistoryLimit ??= 10;
  s.progressDeadlineSeconds ??= 600;
  podTemplateDefaults(deployment.spec?.template);
}

export function replicaSetDefaults(replicaSet: Decoded<ReplicaSet>): void {
  ensured(replicaSet, 'spec').replicas ??= 1;
  const labels = replicaSet.spec?.template?.metadata?.labels ?? {};
  if (Object.keys(labels).length > 0 && Object.keys(replicaSet.metadata?.labels ?? {}).length === 0)
    ensured(replicaSet, 'metadata').labels = { ...labels };
  podTemplateDefaults(replicaSet.spec?.template);
}

export function statefulSetDefaults(statefulSet: Decoded<StatefulSet>): void {
  const s = ensured(statefulSet, 'spec');
  if (!s.podManagementPolicy) s.podManagementPolicy = 'OrderedReady';
  const strategy = ensured(s, 'updateStrategy');
  if (!strategy.type) strategy.type = 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') ensured(strategy, 'rollingUpdate').partition ??= 0;
  const retention = ensured(s, 'persistentVolumeClaimRetentionPolicy');
  if (!retention.whenDeleted) retention.whenDeleted = 'Retain';
  if (!retention.whenScaled) retention.whenScaled = 'Retain';
  s.replicas ??= 1;
  s.revisionHistoryLimit ??= 10;
  for (const claim of s.volumeClaimTemplates ?? []) {
    // Claims of a template are whole objects: kind and version are written out, as upstream.
    claim.apiVersion ??= 'v1';
    claim.kind ??= 'PersistentVolumeClaim';
    ensured(claim, 'spec').volumeMode ??= 'Filesystem';
    ensured(claim, 'status').phase ??= 'Pending';
  }
  podTemplateDefaults(statefulSet.spec?.template);
}

export function daemonSetDefaults(daemonSet: Decoded<DaemonSet>): void {
  const s = ensured(daemonSet, 'spec');
  const strategy = ensured(s, 'updateStrategy');
  if (!strategy.type) strategy.type = 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    const rolling = ensured(strategy, 'rollingUpdate');
    rolling.maxUnavailable ??= 1;
    rolling.maxSurge ??= 0;
  }
  s.revisionHistoryLimit ??= 10;
  defaultTemplateGeneration(daemonSet);
  podTemplateDefaults(daemonSet.spec?.template);
}
