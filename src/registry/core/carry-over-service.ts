// What an update of a Service leaves out and keeps, and what makes no sense with its type any more. Pure, in place.
import { isExternallyAccessible } from '../../api/core/v1/validate-service.ts';
import type { Service, ServicePort, ServiceSpec } from '../../api/generated/types/core-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { nodePortsOf, wantsHealthCheckPort, wantsNodePorts } from './service-ports.ts';

/** As upstream's patchAllocatedValues: a PUT or apply may leave out what the server gave. */
export function carryOver(service: Service, old: Service): void {
  const { spec } = service;
  const before = old.spec;
  if (spec === undefined || before === undefined) return;
  if (spec.type !== 'ExternalName' && before.type !== 'ExternalName') {
    if ((spec.clusterIP ?? '') === '' && before.clusterIP !== undefined) spec.clusterIP = before.clusterIP;
    if ((spec.clusterIPs?.length ?? 0) === 0 && before.clusterIPs !== undefined)
      spec.clusterIPs = [...before.clusterIPs];
    if (spec.ipFamilies === undefined && before.ipFamilies !== undefined)
      spec.ipFamilies = [...before.ipFamilies];
    if (spec.ipFamilyPolicy === undefined && before.ipFamilyPolicy !== undefined)
      spec.ipFamilyPolicy = before.ipFamilyPolicy;
  }
  if (wantsNodePorts(service) && wantsNodePorts(old)) carryOverPorts(spec.ports ?? [], before.ports ?? []);
  if (wantsHealthCheckPort(service) && wantsHealthCheckPort(old))
    spec.healthCheckNodePort ??= before.healthCheckNodePort;
}

function carryOverPorts(ports: ServicePort[], before: readonly ServicePort[]): void {
  const used = new Set(ports.map((port) => port.nodePort ?? 0));
  for (const port of ports) {
    if ((port.nodePort ?? 0) !== 0) continue;
    const nodePort = before.find(
      (candidate) =>
        candidate.port === port.port &&
        (candidate.protocol ?? 'TCP') === (port.protocol ?? 'TCP') &&
        !used.has(candidate.nodePort ?? 0),
    )?.nodePort;
    if (nodePort !== undefined) port.nodePort = nodePort;
  }
}

/** As upstream: who knows one address only says that; who knows of several says both. What does not go together is refused later. */
export function normalizeClusterIps({ spec }: Service, old?: Service): void {
  if (spec === undefined || spec.type === 'ExternalName') return;
  const { clusterIP = '', clusterIPs: ips = [] } = spec;
  const before = old?.spec?.clusterIPs ?? [];
  const isOld = old !== undefined && clusterIP !== (old.spec?.clusterIP ?? '') && semanticEqual(ips, before);
  if (clusterIP !== '' && (ips.length === 0 || isOld)) spec.clusterIPs = [clusterIP];
}

/** Fields that only make sense with another type are dropped when the type changes. */
export function dropStale(service: Service, old: Service | undefined): void {
  const { spec } = service;
  if (spec === undefined) return;
  if (spec.type === 'ExternalName') {
    if (old !== undefined && spec.clusterIP === old.spec?.clusterIP) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (semanticEqual(spec.ipFamilies, old?.spec?.ipFamilies)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === old?.spec?.ipFamilyPolicy) delete spec.ipFamilyPolicy;
    delete spec.internalTrafficPolicy;
  }
  if (old !== undefined && !wantsNodePorts(service) && wantsNodePorts(old)) {
    const before = nodePortsOf(old);
    for (const port of spec.ports ?? []) if (before.includes(port.nodePort ?? 0)) delete port.nodePort;
  }
  if (old?.spec !== undefined) dropOfType(spec, old.spec);
}

const isBalanced = ({ type }: ServiceSpec): boolean => type === 'LoadBalancer';
/** The fields that some types only may have, and which those are. */
const ofTypes: readonly (readonly [keyof ServiceSpec & string, (spec: ServiceSpec) => boolean])[] = [
  ['allocateLoadBalancerNodePorts', isBalanced],
  ['externalTrafficPolicy', isExternallyAccessible],
  ['healthCheckNodePort', (spec) => isBalanced(spec) && spec.externalTrafficPolicy === 'Local'],
  ['loadBalancerClass', isBalanced],
];

/** What an update leaves as it was goes with the type that it was for; what it says anew is refused by the rules. */
function dropOfType(spec: ServiceSpec, before: ServiceSpec): void {
  for (const [field, isFor] of ofTypes)
    if (isFor(before) && !isFor(spec) && spec[field] === before[field]) delete spec[field];
}
