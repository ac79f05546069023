// Pods behind a service: which count, by which addresses and ports.
import { pods, services } from '../../api/generated/resources.ts';
import type { Pod, Service, ServicePort } from '../../api/generated/types/core-v1.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { matchesSet } from '../../apimachinery/label-selector.ts';
import { keyOf } from '../../client/cache/object-store.ts';
import { isPodReady, isPodTerminal, isPodTerminating } from '../../component-helpers/pod-status.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';

/** Without a selector the endpoints are the user's own; an ExternalName has none. */
export const isManaged = (service: Service): boolean =>
  service.spec?.type !== 'ExternalName' && Object.keys(service.spec?.selector ?? {}).length > 0;

export const podIPs = (pod: Pod): readonly string[] => {
  const { podIPs, podIP } = pod.status ?? {};
  const all = (podIPs ?? []).map((entry) => entry.ip).filter((ip) => ip !== undefined && ip !== '');
  return all.length > 0 ? (all as string[]) : podIP === undefined || podIP === '' ? [] : [podIP];
};

export const shouldBeInEndpoints = (pod: Pod, includeTerminating: boolean): boolean =>
  !isPodTerminal(pod) && podIPs(pod).length > 0 && (includeTerminating || !isPodTerminating(pod));

const selects = ({ spec }: Service, pod: Pod | undefined): boolean =>
  pod !== undefined && spec?.selector !== undefined && matchesSet(spec.selector, pod.metadata.labels);

/** Of a managed one. */
export function selectedPods(context: ControllerContext, service: Service): readonly Pod[] {
  return context
    .read(pods)
    .list(service.metadata.namespace)
    .filter((pod) => selects(service, pod));
}

const portName = (name: string, protocol: string | undefined): string => `${name}/${protocol ?? 'TCP'}`;

/** Numbers by name and protocol; of two with the same, the first counts. */
function namedPorts(pod: Pod): Map<string, number> {
  const sidecars = (pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always');
  const found = new Map<string, number>();
  for (const container of [...pod.spec.containers, ...sidecars])
    for (const { name = '', protocol, containerPort } of container.ports ?? [])
      if (name !== '' && !found.has(portName(name, protocol)))
        found.set(portName(name, protocol), containerPort);
  return found;
}

/** The number behind `targetPort`; undefined when there is no port of that name. */
function podPort(named: ReadonlyMap<string, number>, port: ServicePort): number | undefined {
  const target = port.targetPort;
  if (target === undefined || target === 0 || target === '') return port.port;
  return typeof target === 'number' ? target : named.get(portName(target, port.protocol));
}

/**
 * What each pod has of a Service's ports. Made once for all pods that name theirs alike, which get the same list: thousands of
 * ports times hundreds of pods, times the ports of each, are never gone through.
 */
export function portsOfPods<T>(
  service: Service,
  make: (port: ServicePort, number: number) => T,
): (pod: Pod) => readonly T[] {
  const ports = service.spec?.ports ?? [];
  const isNamed = ports.some(({ targetPort }) => typeof targetPort === 'string' && targetPort !== '');
  const made = new Map<string, readonly T[]>();
  return (pod) => {
    const named = isNamed ? namedPorts(pod) : new Map<string, number>();
    const key = JSON.stringify([...named]);
    const list =
      made.get(key) ??
      ports.flatMap((port) => {
        const number = podPort(named, port);
        return number === undefined ? [] : [make(port, number)];
      });
    made.set(key, list);
    return list;
  };
}

/** The pod's own name in the service's domain. */
export function endpointHostname(pod: Pod, service: Service): string | undefined {
  const { hostname, subdomain } = pod.spec;
  return hostname !== undefined && hostname !== '' && subdomain === service.metadata.name
    ? hostname
    : undefined;
}

/** In all of a pod that endpoints depend on. A pod's versions share what they have in common, so that most of this is quick. */
const isSameForEndpoints = (a: Pod, b: Pod): boolean =>
  a.spec.nodeName === b.spec.nodeName &&
  a.spec.hostname === b.spec.hostname &&
  a.spec.subdomain === b.spec.subdomain &&
  (a.metadata.deletionTimestamp === undefined) === (b.metadata.deletionTimestamp === undefined) &&
  isPodReady(a) === isPodReady(b) &&
  isPodTerminal(a) === isPodTerminal(b) &&
  jsonEqual([...podIPs(a)], [...podIPs(b)]) &&
  jsonEqual(a.metadata.labels, b.metadata.labels);

/** Keys of the services that a change of a pod concerns: those that select it now and those that did. */
export function servicesOf(pod: Pod, old: Pod | undefined, context: ControllerContext): readonly string[] {
  if (old !== undefined && isSameForEndpoints(old, pod)) return [];
  return context
    .read(services)
    .list(pod.metadata.namespace)
    .filter((service) => (selects(service, pod) || selects(service, old)) && isManaged(service))
    .map((service) => keyOf(service.metadata.name, service.metadata.namespace));
}
