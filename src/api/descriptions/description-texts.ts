// The texts of all groups and versions, by what the full names of their types begin with.
import { authentication, authorization, certificates, rbac } from './access.ts';
import { admissionregistration } from './admission.ts';
import { apiextensions } from './apiextensions.ts';
import { autoscalingV1, autoscalingV2 } from './autoscaling.ts';
import { apiregistration, coordination, events, node, policy, scheduling } from './cluster-services.ts';
import { coreCluster } from './core-cluster.ts';
import { corePods } from './core-pods.ts';
import { coreVolumes } from './core-volumes.ts';
import { flowcontrol } from './flowcontrol.ts';
import { intOrString, meta, quantity, rawExtension, version } from './meta.ts';
import { metrics } from './metrics.ts';
import { discovery, networking } from './networking.ts';
import { resource } from './resource.ts';
import { storage } from './storage.ts';
import { storagemigration } from './storagemigration.ts';
import { apps, batch } from './workloads.ts';

export const descriptionTexts: readonly (readonly [prefix: string, text: string])[] = [
  ['io.k8s.api.admissionregistration.v1.', admissionregistration],
  ['io.k8s.api.apps.v1.', apps],
  ['io.k8s.api.authentication.v1.', authentication],
  ['io.k8s.api.authorization.v1.', authorization],
  ['io.k8s.api.autoscaling.v1.', autoscalingV1],
  ['io.k8s.api.autoscaling.v2.', autoscalingV2],
  ['io.k8s.api.batch.v1.', batch],
  ['io.k8s.api.certificates.v1.', certificates],
  ['io.k8s.api.coordination.v1.', coordination],
  ['io.k8s.api.core.v1.', corePods],
  ['io.k8s.api.core.v1.', coreVolumes],
  ['io.k8s.api.core.v1.', coreCluster],
  ['io.k8s.api.discovery.v1.', discovery],
  ['io.k8s.api.events.v1.', events],
  ['io.k8s.api.flowcontrol.v1.', flowcontrol],
  ['io.k8s.api.networking.v1.', networking],
  ['io.k8s.api.node.v1.', node],
  ['io.k8s.api.policy.v1.', policy],
  ['io.k8s.api.rbac.v1.', rbac],
  ['io.k8s.api.resource.v1.', resource],
  ['io.k8s.api.scheduling.v1.', scheduling],
  ['io.k8s.api.storage.v1.', storage],
  ['io.k8s.api.storagemigration.v1beta1.', storagemigration],
  ['io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.', apiextensions],
  ['io.k8s.apimachinery.pkg.api.resource.', quantity],
  ['io.k8s.apimachinery.pkg.apis.meta.v1.', meta],
  ['io.k8s.apimachinery.pkg.runtime.', rawExtension],
  ['io.k8s.apimachinery.pkg.util.intstr.', intOrString],
  ['io.k8s.apimachinery.pkg.version.', version],
  ['io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.', apiregistration],
  ['io.k8s.metrics.pkg.apis.metrics.v1beta1.', metrics],
];
