// The endpoint slices that mirror an Endpoints object which somebody keeps by hand.
import { endpoints as endpointsResource } from '../../api/generated/resources.ts';
import type { EndpointAddress, Endpoints, Service } from '../../api/generated/types/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { controllerReference } from '../../controller-runtime/owner-reference.ts';
import { managedByLabel, serviceNameLabel } from './desired-slices.ts';
import {
  addressKey,
  type EndpointGroup,
  type Family,
  familyChanges,
  familyOf,
  type SliceChanges,
  sliceGroupOf,
} from './slice-changes.ts';

export const mirroringManager = 'endpointslicemirroring-controller.k8s.io';
const skipLabel = 'endpointslice.kubernetes.io/skip-mirror';
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const ownAnnotations = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'endpoints.kubernetes.io/last-change-trigger-time',
];
/** Upstream's --mirroring-max-endpoints-per-subset. */
const maxEndpointsPerSubset = 1000;

/** Endpoints of a service without a selector are somebody else's; those of the others are made from pods. */
export function isMirrored(endpoints: Endpoints | undefined, service: Service | undefined): boolean {
  if (endpoints === undefined || service === undefined || service.spec?.selector !== undefined) return false;
  const { labels, annotations, deletionTimestamp } = endpoints.metadata;
  return (
    deletionTimestamp === undefined &&
    labels?.[skipLabel] !== 'true' &&
    annotations?.[leaderAnnotation] === undefined
  );
}

function endpointOf(address: EndpointAddress, ready: boolean): Endpoint {
  const { ip, nodeName, hostname, targetRef } = address;
  return {
    addresses: [ip],
    conditions: { ready },
    ...(targetRef === undefined ? {} : { targetRef }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(hostname === undefined || hostname === '' ? {} : { hostname }),
  };
}

function groupsOf(endpoints: Endpoints): Map<Family, Map<string, EndpointGroup>> {
  const families = new Map<Family, Map<string, EndpointGroup>>([
    ['IPv4', new Map()],
    ['IPv6', new Map()],
  ]);
  for (const subset of endpoints.subsets ?? []) {
    const ports = (subset.ports ?? []).map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
      name,
      port,
      protocol,
      ...(appProtocol === undefined ? {} : { appProtocol }),
    }));
    const all = [
      ...(subset.addresses ?? []).map((address) => endpointOf(address, true)),
      ...(subset.notReadyAddresses ?? []).map((address) => endpointOf(address, false)),
    ];
    for (const endpoint of all.slice(0, maxEndpointsPerSubset)) {
      const groups = families.get(familyOf(endpoint.addresses[0] ?? ''));
      if (groups !== undefined) sliceGroupOf(groups, ports).set(addressKey(endpoint), endpoint);
    }
  }
  return families;
}

/** Without endpoints to mirror all slices go. */
export function mirroredSlices(
  endpoints: Endpoints | undefined,
  existing: readonly EndpointSlice[],
): SliceChanges {
  if (endpoints === undefined) return { create: [], update: [], remove: existing };
  const { name, namespace, labels, annotations = {} } = endpoints.metadata;
  const target = {
    name,
    namespace,
    labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirroringManager },
    annotations: Object.fromEntries(
      Object.entries(annotations).filter(([key]) => !ownAnnotations.includes(key)),
    ),
    owner: controllerReference(endpointsResource, endpoints),
    keepsOne: false,
  };
  const changes = [...groupsOf(endpoints)].map(([family, groups]) =>
    familyChanges(
      target,
      family,
      groups,
      existing.filter((slice) => slice.addressType === family),
    ),
  );
  return {
    create: changes.flatMap((change) => change.create),
    update: changes.flatMap((change) => change.update),
    remove: changes.flatMap((change) => change.remove),
  };
}
