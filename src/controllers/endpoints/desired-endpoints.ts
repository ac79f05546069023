// The Endpoints object of a service: addresses that share ports, packed together.
import type {
  EndpointAddress,
  EndpointPort,
  EndpointSubset,
  Pod,
  Service,
  ServicePort,
} from '../../api/generated/types/core-v1.ts';
import { isPodReady } from '../../component-helpers/pod-status.ts';
import { portListKey } from './port-key.ts';
import { endpointHostname, podIPs, portsOfPods, shouldBeInEndpoints } from './service-pods.ts';

/** Upstream's cap; beyond it the object says so by an annotation. */
const maxAddresses = 1000;

function addressOf(pod: Pod, service: Service): EndpointAddress | undefined {
  const wantV6 = service.spec?.ipFamilies?.[0] === 'IPv6';
  const ip = podIPs(pod).find((candidate) => candidate.includes(':') === wantV6);
  if (ip === undefined) return undefined;
  const { name, namespace, uid } = pod.metadata;
  const hostname = endpointHostname(pod, service);
  const { nodeName } = pod.spec;
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

function endpointPort(port: ServicePort, number: number): EndpointPort {
  const { name, protocol, appProtocol } = port;
  return {
    ...(name === undefined || name === '' ? {} : { name }),
    port: number,
    protocol: protocol ?? 'TCP',
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

interface Packed {
  readonly ports: readonly EndpointPort[];
  readonly ready: EndpointAddress[];
  readonly notReady: EndpointAddress[];
}
const byIP = (a: EndpointAddress, b: EndpointAddress): number => (a.ip < b.ip ? -1 : a.ip > b.ip ? 1 : 0);

export function desiredSubsets(
  service: Service,
  pods: readonly Pod[],
): { readonly subsets: EndpointSubset[]; readonly truncated: boolean } {
  const publishNotReady = service.spec?.publishNotReadyAddresses === true;
  const packed = new Map<string, Packed>();
  const portsOf = portsOfPods(service, endpointPort);
  let total = 0;
  let truncated = false;
  const usable = pods.filter((pod) => shouldBeInEndpoints(pod, publishNotReady));
  // Ready ones first: they are the last to be cut.
  for (const pod of [...usable.filter(isPodReady), ...usable.filter((pod) => !isPodReady(pod))]) {
    const address = addressOf(pod, service);
    if (address === undefined) continue;
    const ports = portsOf(pod);
    const isPortless = (service.spec?.ports ?? []).length === 0;
    if (ports.length === 0 && !isPortless) continue;
    if (total >= maxAddresses) {
      truncated = true;
      break;
    }
    total += 1;
    const key = portListKey(ports);
    let group = packed.get(key);
    if (group === undefined) {
      group = { ports, ready: [], notReady: [] };
      packed.set(key, group);
    }
    (publishNotReady || isPodReady(pod) ? group.ready : group.notReady).push(address);
  }
  const subsets = [...packed]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([, { ports, ready, notReady }]): EndpointSubset => ({
        ...(ready.length === 0 ? {} : { addresses: ready.sort(byIP) }),
        ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady.sort(byIP) }),
        ...(ports.length === 0 ? {} : { ports: [...ports] }),
      }),
    );
  return { subsets, truncated };
}
