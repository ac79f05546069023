// Pods behind a service: which count, by which addresses and ports.
import { pods, services } from '../../api/generated/resources.ts';
import type { Pod, Service, ServicePort } from '../../api/generated/types/core-v1.ts';
import { matchesSelector, selectorFromSet } from '../../apimachinery/label-selector.ts';
import { keyOf } from '../../client/cache/object-store.ts';
import { isPodReady, isPodTerminal, isPodTerminating } from '../../component-helpers/pod-status.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { canonicalJson } from '../workload/template-hash.ts';

export const isHeadless = (service: Service): boolean => service.spec?.clusterIP === 'None';

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

export function selectedPods(context: ControllerContext, service: Service): readonly Pod[] {
  const selector = selectorFromSet(service.spec?.selector);
  return context
    .read(pods)
    .list(service.metadata.namespace)
    .filter((pod) => matchesSelector(selector, pod.metadata.labels));
}

/** The number behind `targetPort` in this pod; undefined when it has no port of that name. */
export function podPort(pod: Pod, port: ServicePort): number | undefined {
  const target = port.targetPort;
  if (target === undefined || target === 0 || target === '') return port.port;
  if (typeof target === 'number') return target;
  const sidecars = (pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always');
  for (const container of [...pod.spec.containers, ...sidecars])
    for (const { name, protocol, containerPort } of container.ports ?? [])
      if (name === target && (protocol ?? 'TCP') === (port.protocol ?? 'TCP')) return containerPort;
  return undefined;
}

/** The pod's own name in the service's domain. */
export function endpointHostname(pod: Pod, service: Service): string | undefined {
  const { hostname, subdomain } = pod.spec;
  return hostname !== undefined && hostname !== '' && subdomain === service.metadata.name
    ? hostname
    : undefined;
}

/** What of a pod endpoints depend on. */
const relevant = (pod: Pod): string =>
  canonicalJson([
    pod.metadata.labels,
    pod.metadata.deletionTimestamp === undefined,
    podIPs(pod),
    isPodReady(pod),
    isPodTerminal(pod),
    pod.spec.nodeName,
    pod.spec.hostname,
    pod.spec.subdomain,
  ]);

/** Keys of the services that a change of a pod concerns: those that select it now and those that did. */
export function servicesOf(pod: Pod, old: Pod | undefined, context: ControllerContext): readonly string[] {
  if (old !== undefined && relevant(old) === relevant(pod)) return [];
  return context
    .read(services)
    .list(pod.metadata.namespace)
    .filter((service) => {
      if (!isManaged(service)) return false;
      const selector = selectorFromSet(service.spec?.selector);
      return (
        matchesSelector(selector, pod.metadata.labels) ||
        (old !== undefined && matchesSelector(selector, old.metadata.labels))
      );
    })
    .map((service) => keyOf(service.metadata.name, service.metadata.namespace));
}
