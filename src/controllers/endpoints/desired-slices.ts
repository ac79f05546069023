// The endpoint slices of a service with a selector, from its pods. Pure.
import { services } from '../../api/generated/resources.ts';
import type { Pod, Service, ServicePort } from '../../api/generated/types/core-v1.ts';
import type {
  Endpoint,
  EndpointHints,
  EndpointPort,
  EndpointSlice,
} from '../../api/generated/types/discovery-v1.ts';
import { isHeadless } from '../../component-helpers/headless.ts';
import { isPodReady, isPodTerminating } from '../../component-helpers/pod-status.ts';
import { controllerReference } from '../../controller-runtime/owner-reference.ts';
import { endpointHostname, podIPs, portsOfPods, shouldBeInEndpoints } from './service-pods.ts';
import {
  addressKey,
  type EndpointGroup,
  type Family,
  familyChanges,
  familyOf,
  type SliceChanges,
  sliceGroupOf,
} from './slice-changes.ts';

export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
export const managedBy = 'endpointslice-controller.k8s.io';
const headlessLabel = 'service.kubernetes.io/headless';
export type ZoneOf = (nodeName: string) => string | undefined;

/** For which zones and nodes an endpoint is meant, where the Service asks for traffic to stay near. */
function hintsOf(service: Service, endpoint: Endpoint): EndpointHints | undefined {
  const { trafficDistribution } = service.spec ?? {};
  const { nodeName, zone } = endpoint;
  const isNear = ['PreferClose', 'PreferSameZone', 'PreferSameNode'].includes(trafficDistribution ?? '');
  if (!isNear || endpoint.conditions?.ready !== true) return undefined;
  const forNodes = trafficDistribution === 'PreferSameNode' && nodeName !== undefined;
  if (zone === undefined && !forNodes) return undefined;
  return {
    ...(zone === undefined ? {} : { forZones: [{ name: zone }] }),
    ...(forNodes ? { forNodes: [{ name: nodeName }] } : {}),
  };
}

const isLoopback = (address: string): boolean => address.startsWith('127.') || address === '::1';

function endpointOf(pod: Pod, service: Service, family: Family, zoneOf: ZoneOf): Endpoint | undefined {
  const address = podIPs(pod).find((ip) => familyOf(ip) === family);
  // On a node that is known by its loopback address alone, a pod of the node's network leads nowhere; a slice with it
  // would be refused, and with it all others.
  if (address === undefined || isLoopback(address)) return undefined;
  const serving = isPodReady(pod);
  const terminating = isPodTerminating(pod);
  const { name, namespace, uid } = pod.metadata;
  const { nodeName } = pod.spec;
  const zone = nodeName === undefined ? undefined : zoneOf(nodeName);
  const hostname = endpointHostname(pod, service);
  const endpoint: Endpoint = {
    addresses: [address],
    conditions: {
      ready: service.spec?.publishNotReadyAddresses === true || (serving && !terminating),
      serving,
      terminating,
    },
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(nodeName === undefined || nodeName === '' ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
    ...(hostname === undefined ? {} : { hostname }),
  };
  const hints = hintsOf(service, endpoint);
  return hints === undefined ? endpoint : { ...endpoint, hints };
}

function endpointPort(port: ServicePort, number: number): EndpointPort {
  const { name, protocol, appProtocol } = port;
  return {
    name: name ?? '',
    port: number,
    protocol: protocol ?? 'TCP',
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function labelsOf(service: Service): Record<string, string> {
  const { [headlessLabel]: _, ...labels } = service.metadata.labels ?? {};
  return {
    ...labels,
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: managedBy,
    ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
  };
}

function groups(
  service: Service,
  pods: readonly Pod[],
  family: Family,
  zoneOf: ZoneOf,
): Map<string, EndpointGroup> {
  const result = new Map<string, EndpointGroup>();
  const portsOf = portsOfPods(service, endpointPort);
  for (const pod of pods) {
    if (!shouldBeInEndpoints(pod, true)) continue;
    const endpoint = endpointOf(pod, service, family, zoneOf);
    if (endpoint === undefined) continue;
    sliceGroupOf(result, portsOf(pod)).set(addressKey(endpoint), endpoint);
  }
  return result;
}

export function desiredSlices(
  service: Service,
  pods: readonly Pod[],
  existing: readonly EndpointSlice[],
  zoneOf: ZoneOf,
): SliceChanges {
  const families = (service.spec?.ipFamilies ?? ['IPv4']) as readonly Family[];
  const { name, namespace } = service.metadata;
  const target = {
    name,
    namespace,
    labels: labelsOf(service),
    owner: controllerReference(services, service),
    keepsOne: true,
  };
  const changes = families.map((family) =>
    familyChanges(
      target,
      family,
      groups(service, pods, family, zoneOf),
      existing.filter((slice) => slice.addressType === family),
    ),
  );
  const stale = existing.filter((slice) => !families.includes(slice.addressType as Family));
  return {
    create: changes.flatMap((change) => change.create),
    update: changes.flatMap((change) => change.update),
    remove: [...changes.flatMap((change) => change.remove), ...stale],
  };
}
