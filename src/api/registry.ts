// Every group and version with what its kinds add.
import type { BehaviourOf } from '../apimachinery/kind-behaviour.ts';
import { admissionregistrationV1 } from './admissionregistration/v1/group.ts';
import { apiextensionsV1 } from './apiextensions/v1/group.ts';
import { apiregistrationV1 } from './apiregistration/v1/group.ts';
import { appsV1 } from './apps/v1/group.ts';
import { authenticationV1 } from './authentication/v1/group.ts';
import { authorizationV1 } from './authorization/v1/group.ts';
import { autoscalingV1 } from './autoscaling/v1/group.ts';
import { autoscalingV2 } from './autoscaling/v2/group.ts';
import { batchV1 } from './batch/v1/group.ts';
import { certificatesV1 } from './certificates/v1/group.ts';
import { coordinationV1 } from './coordination/v1/group.ts';
import { coreV1 } from './core/v1/group.ts';
import { discoveryV1 } from './discovery/v1/group.ts';
import { eventsV1 } from './events/v1/group.ts';
import { flowcontrolV1 } from './flowcontrol/v1/group.ts';
import { metricsV1beta1 } from './metrics/v1beta1/group.ts';
import { networkingV1 } from './networking/v1/group.ts';
import { nodeV1 } from './node/v1/group.ts';
import { policyV1 } from './policy/v1/group.ts';
import { rbacV1 } from './rbac/v1/group.ts';
import { resourceV1 } from './resource/v1/group.ts';
import { schedulingV1 } from './scheduling/v1/group.ts';
import { storageV1 } from './storage/v1/group.ts';
import { storagemigrationV1beta1 } from './storagemigration/v1beta1/group.ts';

/** By `group/version`, then by plural resource name; what their types are, each says itself. */
export const behaviours: Readonly<Record<string, Readonly<Record<string, BehaviourOf<never>>>>> = {
  '/v1': coreV1,
  'admissionregistration.k8s.io/v1': admissionregistrationV1,
  'apiextensions.k8s.io/v1': apiextensionsV1,
  'apiregistration.k8s.io/v1': apiregistrationV1,
  'apps/v1': appsV1,
  'authentication.k8s.io/v1': authenticationV1,
  'authorization.k8s.io/v1': authorizationV1,
  'autoscaling/v1': autoscalingV1,
  'autoscaling/v2': autoscalingV2,
  'batch/v1': batchV1,
  'certificates.k8s.io/v1': certificatesV1,
  'coordination.k8s.io/v1': coordinationV1,
  'discovery.k8s.io/v1': discoveryV1,
  'events.k8s.io/v1': eventsV1,
  'flowcontrol.apiserver.k8s.io/v1': flowcontrolV1,
  'metrics.k8s.io/v1beta1': metricsV1beta1,
  'networking.k8s.io/v1': networkingV1,
  'node.k8s.io/v1': nodeV1,
  'policy/v1': policyV1,
  'rbac.authorization.k8s.io/v1': rbacV1,
  'resource.k8s.io/v1': resourceV1,
  'scheduling.k8s.io/v1': schedulingV1,
  'storage.k8s.io/v1': storageV1,
  'storagemigration.k8s.io/v1beta1': storagemigrationV1beta1,
};
