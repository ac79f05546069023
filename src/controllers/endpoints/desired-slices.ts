// Endpoint slices as they should be: the smallest change from those that are there.
import { services } from '../../api/generated/resources.ts';
import type { Pod, Service } from '../../api/generated/types/core-v1.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { isPodReady, isPodTerminating } from '../../component-helpers/pod-status.ts';
import { controllerReference } from '../../controller-runtime/owner-reference.ts';
import { semanticEqual } from '../workload/semantic-equal.ts';
import { canonicalJson } from '../workload/template-hash.ts';
import { endpointHostname, isHeadless, podIPs, podPort, shouldBeInEndpoints } from './service-pods.ts';

export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
export const managedBy = 'endpointslice-controller.k8s.io';
const headlessLabel = 'service.kubernetes.io/headless';
/** Upstream's --max-endpoints-per-slice. */
const maxEndpoints = 100;

export interface SliceChanges {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}
export type ZoneOf = (nodeName: string) => string | undefined;

const familyOf = (ip: string): 'IPv4' | 'IPv6' => (ip.includes(':') ? 'IPv6' : 'IPv4');

function endpointOf(
  pod: Pod,
  service: Service,
  family: 'IPv4' | 'IPv6',
  zoneOf: ZoneOf,
): Endpoint | undefined {
  const address = podIPs(pod).find((ip) => familyOf(ip) === family);
  if (address === undefined) return undefined;
  const serving = isPodReady(pod);
  const terminating = isPodTerminating(pod);
  const { name, namespace, uid } = pod.metadata;
  const { nodeName } = pod.spec;
  const zone = nodeName === undefined ? undefined : zoneOf(nodeName);
  const hostname = endpointHostname(pod, service);
  return {
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
}

function portsOf(service: Service, pod: Pod): EndpointPort[] {
  const ports: EndpointPort[] = [];
  for (const port of service.spec?.ports ?? []) {
    const number = podPort(pod, port);
    if (number === undefined) continue;
    const { appProtocol } = port;
    ports.push({
      name: port.name ?? '',
      port: number,
      protocol: port.protocol ?? 'TCP',
      ...(appProtocol === undefined ? {} : { appProtocol }),
    });
  }
  return ports;
}

const portKey = (ports: readonly EndpointPort[] | undefined): string =>
  canonicalJson([...(ports ?? [])].map((port) => canonicalJson(port)).sort());
const addressKey = (endpoint: Endpoint): string =>
  `${endpoint.targetRef?.uid ?? ''}/${endpoint.addresses[0]}`;

function labelsOf(service: Service): Record<string, string> {
  const { [headlessLabel]: _, ...labels } = service.metadata.labels ?? {};
  return {
    ...labels,
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: managedBy,
    ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
  };
}

interface Group {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

function groups(
  service: Service,
  pods: readonly Pod[],
  family: 'IPv4' | 'IPv6',
  zoneOf: ZoneOf,
): Map<string, Group> {
  const result = new Map<string, Group>();
  for (const pod of pods) {
    if (!shouldBeInEndpoints(pod, true)) continue;
    const endpoint = endpointOf(pod, service, family, zoneOf);
    if (endpoint === undefined) continue;
    const ports = portsOf(service, pod);
    const key = portKey(ports);
    let group = result.get(key);
    if (group === undefined) {
      group = { ports, endpoints: new Map() };
      result.set(key, group);
    }
    group.endpoints.set(addressKey(endpoint), endpoint);
  }
  return result;
}

/** A slice and what it holds after the change. */
interface Plan {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
  readonly ports: readonly EndpointPort[];
}

function newSlice(
  service: Service,
  family: string,
  ports: readonly EndpointPort[],
  endpoints: Endpoint[],
): EndpointSlice {
  const { name, namespace } = service.metadata;
  return {
    addressType: family,
    endpoints,
    ports: [...ports],
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: labelsOf(service),
      ownerReferences: [controllerReference(services, service)],
    } as EndpointSlice['metadata'],
  };
}

/** Endpoints stay in the slice they are in; new ones fill the fullest slice with room, then new slices. */
function place(group: Group, slices: readonly EndpointSlice[]): { plans: Plan[]; rest: Endpoint[] } {
  const wanted = new Map(group.endpoints);
  const plans = slices.map((slice): Plan => {
    const endpoints: Endpoint[] = [];
    for (const old of slice.endpoints ?? []) {
      const key = addressKey(old);
      const endpoint = wanted.get(key);
      if (endpoint === undefined) continue;
      wanted.delete(key);
      endpoints.push(endpoint);
    }
    return { slice, endpoints, ports: group.ports };
  });
  const rest = [...wanted.values()];
  const changed = (plan: Plan): number =>
    plan.endpoints.length === (plan.slice.endpoints ?? []).length ? 0 : 1;
  // First those that are written anyway: fewer writes is what every node pays for.
  const order = [...plans].sort((a, b) => changed(b) - changed(a) || b.endpoints.length - a.endpoints.length);
  for (const plan of order)
    while (rest.length > 0 && plan.endpoints.length < maxEndpoints) plan.endpoints.push(rest.shift()!);
  return { plans, rest };
}

function familyChanges(
  service: Service,
  pods: readonly Pod[],
  family: 'IPv4' | 'IPv6',
  existing: readonly EndpointSlice[],
  zoneOf: ZoneOf,
): SliceChanges {
  const create: EndpointSlice[] = [];
  const plans: Plan[] = [];
  const wanted = groups(service, pods, family, zoneOf);
  const unused = existing.filter((slice) => !wanted.has(portKey(slice.ports)));
  for (const [key, group] of wanted) {
    const placed = place(
      group,
      existing.filter((slice) => portKey(slice.ports) === key),
    );
    plans.push(...placed.plans);
    for (let at = 0; at < placed.rest.length; at += maxEndpoints) {
      const endpoints = placed.rest.slice(at, at + maxEndpoints);
      // A slice that would be deleted is changed instead: its name lives on.
      const reused = unused.shift();
      if (reused === undefined) create.push(newSlice(service, family, group.ports, endpoints));
      else plans.push({ slice: reused, endpoints, ports: group.ports });
    }
  }
  const empty = [...plans.filter((plan) => plan.endpoints.length === 0).map((plan) => plan.slice), ...unused];
  const kept = plans.filter((plan) => plan.endpoints.length > 0);
  // A service without endpoints still has one slice, so that "none" differs from "not yet known".
  if (kept.length === 0 && create.length === 0) {
    const placeholder = empty.shift();
    if (placeholder === undefined) create.push(newSlice(service, family, [], []));
    else kept.push({ slice: placeholder, endpoints: [], ports: [] });
  }
  const labels = labelsOf(service);
  const update = kept
    .filter(
      ({ slice, endpoints, ports }) =>
        !semanticEqual(endpoints, slice.endpoints) ||
        portKey(ports) !== portKey(slice.ports) ||
        !semanticEqual(labels, slice.metadata.labels),
    )
    .map(
      ({ slice, endpoints, ports }): EndpointSlice => ({
        ...slice,
        endpoints,
        ports: [...ports],
        metadata: { ...slice.metadata, labels },
      }),
    );
  return { create, update, remove: empty };
}

export function desiredSlices(
  service: Service,
  pods: readonly Pod[],
  existing: readonly EndpointSlice[],
  zoneOf: ZoneOf,
): SliceChanges {
  const families = (service.spec?.ipFamilies ?? ['IPv4']) as readonly ('IPv4' | 'IPv6')[];
  const changes = families.map((family) =>
    familyChanges(
      service,
      pods,
      family,
      existing.filter((slice) => slice.addressType === family),
      zoneOf,
    ),
  );
  const stale = existing.filter((slice) => !families.includes(slice.addressType as 'IPv4' | 'IPv6'));
  return {
    create: changes.flatMap((change) => change.create),
    update: changes.flatMap((change) => change.update),
    remove: [...changes.flatMap((change) => change.remove), ...stale],
  };
}
