// The kinds of the core group.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type {
  Binding,
  ComponentStatus,
  ConfigMap,
  Endpoints,
  Event,
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
} from '../../generated/types/core-v1.ts';
import { endpoints } from './endpoints.ts';
import { event } from './event.ts';
import { limitRange } from './limitrange.ts';
import { namespace } from './namespace.ts';
import { node } from './node.ts';
import { pod } from './pod.ts';
import { replicationController } from './replicationcontroller.ts';
import { resourceQuota } from './resourcequota.ts';
import { secret } from './secret.ts';
import { service } from './service.ts';
import { binding, componentStatus, configMap, podTemplate, serviceAccount } from './small-kinds.ts';
import { persistentVolume, persistentVolumeClaim } from './volume-claims.ts';

export const coreV1: GroupBehaviours<{
  bindings: Binding;
  componentstatuses: ComponentStatus;
  configmaps: ConfigMap;
  endpoints: Endpoints;
  events: Event;
  limitranges: LimitRange;
  namespaces: Namespace;
  nodes: Node;
  persistentvolumeclaims: PersistentVolumeClaim;
  persistentvolumes: PersistentVolume;
  pods: Pod;
  podtemplates: PodTemplate;
  replicationcontrollers: ReplicationController;
  resourcequotas: ResourceQuota;
  secrets: Secret;
  serviceaccounts: ServiceAccount;
  services: Service;
}> = {
  bindings: binding,
  componentstatuses: componentStatus,
  configmaps: configMap,
  endpoints,
  events: event,
  limitranges: limitRange,
  namespaces: namespace,
  nodes: node,
  persistentvolumeclaims: persistentVolumeClaim,
  persistentvolumes: persistentVolume,
  pods: pod,
  podtemplates: podTemplate,
  replicationcontrollers: replicationController,
  resourcequotas: resourceQuota,
  secrets: secret,
  serviceaccounts: serviceAccount,
  services: service,
};
