// What the status of a pod may say, and what of it stays as it is.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { ipErrors, isIPv4 } from '../../../apimachinery/validation/addresses.ts';
import { type Errors, each } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  Container,
  ContainerStatus,
  HostIP,
  LinuxContainerUser,
  Pod,
  PodIP,
  PodSpec,
  PodStatus,
} from '../../generated/types/core-v1.ts';

type Status = Decoded<PodStatus>;
type Statuses = readonly Decoded<ContainerStatus>[];
const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

const notNegativeInteger = 'must be a non-negative integer';
const idRange = 'must be between 0 and 2147483647, inclusive';

export function validatePodStatus(pod: Decoded<Pod>, old: Decoded<Pod>): Errors {
  const [next, before] = [pod.status ?? {}, old.status ?? {}];
  return [
    ...conditionErrors(next),
    ...nominationErrors(next, before, old.spec?.nodeName ?? ''),
    ...((next.observedGeneration ?? 0) < 0
      ? [invalid('status.observedGeneration', next.observedGeneration, notNegativeInteger)]
      : []),
    ...(before.qosClass && next.qosClass && next.qosClass !== before.qosClass
      ? [invalid('status.qosClass', next.qosClass, 'field is immutable')]
      : []),
    ...lists.flatMap((list) => transitionErrors(list, next[list] ?? [], before[list] ?? [], old.spec ?? {})),
    ...claimErrors(pod),
    ...extendedClaimErrors(pod),
    ...addressErrors('podIPs', next.podIPs ?? [], before.podIPs ?? []),
    ...hostErrors(next, before),
    ...lists.flatMap((list) => userErrors(list, next[list] ?? [], pod.spec?.os?.name ?? 'linux')),
    ...allocatedErrors('containerStatuses', next.containerStatuses ?? [], pod.spec?.containers ?? []),
    ...allocatedErrors(
      'initContainerStatuses',
      next.initContainerStatuses ?? [],
      pod.spec?.initContainers ?? [],
    ),
    ...(next.ephemeralContainerStatuses ?? []).flatMap(({ allocatedResourcesStatus: allocated = [] }, i) =>
      allocated.length === 0
        ? []
        : [
            forbidden(
              `status.ephemeralContainerStatuses[${i}].allocatedResourcesStatus`,
              'must not be specified in container status',
            ),
          ],
    ),
  ];
}

const ofTheSystem = ['PodScheduled', 'Ready', 'Initialized'];

const conditionErrors = ({ conditions = [] }: Status): Errors =>
  conditions.flatMap(({ type = '', observedGeneration }, i) => [
    ...((observedGeneration ?? 0) < 0
      ? [invalid(`status.conditions[${i}].observedGeneration`, observedGeneration, notNegativeInteger)]
      : []),
    ...(ofTheSystem.includes(type) ? [] : each(`status.conditions[${i}].Type`, type, qualifiedNameErrors)),
  ]);

function nominationErrors(next: Status, before: Status, nodeName: string): Errors {
  const field = 'status.nominatedNodeName';
  const { nominatedNodeName: name = '' } = next;
  if (name === '' || name === before.nominatedNodeName) return [];
  return [
    ...each(field, name, dnsSubdomain),
    ...(nodeName === '' ? [] : [forbidden(field, 'may not be set on pods that are already bound to a node')]),
  ];
}

const byName = <T extends { readonly name?: string | undefined }>(list: readonly T[]): Map<string, T> => {
  const map = new Map<string, T>();
  for (const one of list) if (!map.has(one.name ?? '')) map.set(one.name ?? '', one);
  return map;
};

/** By rules, then by its own policy, then by the pod's. */
function startsAgain(
  container: Decoded<Container> | undefined,
  pod: Decoded<PodSpec>,
  code: number,
): boolean {
  for (const { exitCodes } of container?.restartPolicyRules ?? []) {
    const isIn = (exitCodes?.values ?? []).includes(code);
    if (exitCodes !== undefined && isIn === (exitCodes.operator === 'In')) return true;
  }
  const policy = container?.restartPolicy ?? pod.restartPolicy;
  return policy === 'Always' || (policy === 'OnFailure' && code !== 0);
}

/** Of a container that has ended and is not started again: it has ended. */
function transitionErrors(
  list: (typeof lists)[number],
  statuses: Statuses,
  before: Statuses,
  pod: Decoded<PodSpec>,
): Errors {
  if (!before.some(({ state }) => state?.terminated !== undefined)) return [];
  const now = byName(statuses);
  const containers = byName(pod.containers ?? []);
  const inits = byName(pod.initContainers ?? []);
  return before.flatMap(({ name = '', state }, i) => {
    const ended = state?.terminated;
    const status = now.get(name);
    if (ended === undefined || status === undefined || status.state?.terminated !== undefined) return [];
    const code = ended.exitCode ?? 0;
    const again =
      list === 'containerStatuses'
        ? containers.has(name) && startsAgain(containers.get(name), pod, code)
        : list === 'initContainerStatuses' &&
          (startsAgain(undefined, pod, code) || inits.get(name)?.restartPolicy === 'Always');
    return again
      ? []
      : [forbidden(`status.${list}[${i}].state`, 'may not be transitioned to non-terminated state')];
  });
}

function claimErrors({ spec = {}, status = {} }: Decoded<Pod>): Errors {
  const known = byName(spec.resourceClaims ?? []);
  const seen = new Set<string>();
  return (status.resourceClaimStatuses ?? []).flatMap(({ name = '', resourceClaimName: claim }, i) => {
    const field = `status.resourceClaimStatuses[${i}].name`;
    const errors: Errors = known.has(name)
      ? []
      : [invalid(field, name, 'must match the name of an entry in `spec.resourceClaims`')];
    if (seen.has(name)) errors.push(duplicate(field, name));
    seen.add(name);
    return [...errors, ...(claim === undefined ? [] : each(field, claim, dnsSubdomain))];
  });
}

function extendedClaimErrors({ spec = {}, status = {} }: Decoded<Pod>): Errors {
  const claim = status.extendedResourceClaimStatus;
  if (claim === undefined) return [];
  const at = 'status.extendedResourceClaimStatus';
  const { requestMappings: mappings = [], resourceClaimName: name = '' } = claim;
  const containers = byName([...(spec.containers ?? []), ...(spec.initContainers ?? [])]);
  const errors: Errors =
    mappings.length === 0
      ? [required(`${at}.requestMappings`, 'at least one request mapping is required')]
      : [];
  const seen = new Set<string>();
  mappings.forEach(({ containerName = '', resourceName = '', requestName = '' }, i) => {
    const here = `${at}.requestMappings[${i}]`;
    const container = containers.get(containerName);
    if (container === undefined)
      errors.push(
        invalid(
          `${here}.containerName`,
          containerName,
          'must match the name of an entry in spec.initContainers.name or spec.containers.name',
        ),
      );
    else if (!Object.hasOwn(container.resources?.requests ?? {}, resourceName))
      errors.push(
        invalid(
          `${here}.resourceName`,
          resourceName,
          'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
        ),
      );
    errors.push(...each(`${at}.requestName`, requestName, dnsLabel));
    const key = `${containerName}\n${resourceName}`;
    if (seen.has(key))
      errors.push(
        duplicate(`${here}.containerName`, containerName),
        duplicate(`${here}.resourceName`, resourceName),
      );
    seen.add(key);
  });
  if (name === '') return [...errors, required(`${at}.resourceClaimName`)];
  return [...errors, ...each(`${at}.resourceClaimName`, name, dnsSubdomain)];
}

type Addresses = readonly Decoded<PodIP | HostIP>[];

/** One of each family at most; what was wrong before may stay. */
function addressErrors(list: 'podIPs' | 'hostIPs', addresses: Addresses, before: Addresses): Errors {
  const field = `status.${list}`;
  const known = new Set(before.map(({ ip = '' }) => ip));
  const errors = addresses.flatMap(({ ip = '' }, i) =>
    known.has(ip) ? [] : each(`${field}[${i}]`, ip, ipErrors),
  );
  if (addresses.length < 2) return errors;
  const families = new Set(addresses.map(({ ip = '' }) => isIPv4(ip)));
  if (families.size < 2 || addresses.length > 2)
    errors.push(invalid(field, addresses, 'may specify no more than one IP for each IP family'));
  return errors;
}

function hostErrors({ hostIP = '', hostIPs = [] }: Status, before: Status): Errors {
  if (hostIPs.length === 0) return [];
  const first = hostIPs[0]?.ip ?? '';
  return [
    ...(hostIP === first ? [] : [invalid('status.hostIPs[0].ip', first, 'must be equal to `hostIP`')]),
    ...addressErrors('hostIPs', hostIPs, before.hostIPs ?? []),
  ];
}

const maxId = 2 ** 31 - 1;
const idErrors = (field: string, id: number | bigint | undefined): Errors =>
  (id ?? 0) < 0 || (id ?? 0) > maxId ? [invalid(field, id, idRange)] : [];

function userErrors(list: (typeof lists)[number], statuses: Statuses, os: string): Errors {
  return statuses.flatMap(({ user }, i) => {
    const linux: Decoded<LinuxContainerUser> | undefined = user?.linux;
    const at = `status.${list}[${i}].user.linux`;
    if (linux === undefined) return [];
    if (os === 'windows') return [forbidden(at, 'cannot be set for a windows pod')];
    return [
      ...idErrors(`${at}.uid`, linux.uid),
      ...idErrors(`${at}.gid`, linux.gid),
      ...(linux.supplementalGroups ?? []).flatMap((id, g) => idErrors(`${at}.supplementalGroups[${g}]`, id)),
    ];
  });
}

const healths = ['Healthy', 'Unhealthy', 'Unknown'];
const claimPrefix = 'claim:';

function allocatedErrors(
  list: (typeof lists)[number],
  statuses: Statuses,
  containers: readonly Decoded<Container>[],
): Errors {
  const known = byName(containers);
  return statuses.flatMap(({ name = '', allocatedResourcesStatus: allocated = [] }, i) =>
    allocated.flatMap((one, j) => {
      const at = `status.${list}[${i}].allocatedResourcesStatus[${j}]`;
      const errors = allocationErrors(`${at}.name`, one.name ?? '', known.get(name));
      const ids = new Set<string>();
      (one.resources ?? []).forEach(({ health = '', resourceID = '' }, k) => {
        const here = `${at}.resources[${k}]`;
        if (!healths.includes(health)) errors.push(notSupported(`${here}.health`, health, healths));
        if (ids.has(resourceID)) errors.push(duplicate(`${here}.resourceID`, resourceID));
        ids.add(resourceID);
      });
      return errors;
    }),
  );
}

/** Of a container that is not there any more nobody knows what it had. */
function allocationErrors(field: string, name: string, container: Decoded<Container> | undefined): Errors {
  if (container === undefined) return [];
  const { claims = [], requests = {} } = container.resources ?? {};
  if (!name.startsWith(claimPrefix))
    return Object.hasOwn(requests, name)
      ? []
      : [invalid(field, name, "must match one of the container's resource requests")];
  const texts = claims.map(
    ({ name: claim = '', request = '' }) => `${claimPrefix}${claim}${request === '' ? '' : `/${request}`}`,
  );
  return texts.includes(name)
    ? []
    : [
        invalid(
          field,
          name,
          "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
        ),
      ];
}
