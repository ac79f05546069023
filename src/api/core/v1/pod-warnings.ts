// What a client is warned of although it is allowed, as upstream's pod warnings.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { ipWarnings } from '../../../apimachinery/validation/addresses.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import type {
  AppArmorProfile,
  Container,
  ContainerPort,
  EnvVar,
  Pod,
  PodSpec,
  PodTemplateSpec,
} from '../../generated/types/core-v1.ts';
import type { ObjectMeta } from '../../generated/types/meta-v1.ts';
import { endedNodeLabel, selectorTermWarnings } from './node-label-warnings.ts';
import { fractionWarnings, podVolumeWarnings } from './volume-warnings.ts';

const endedAnnotations: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod':
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
};
const podSeccomp = 'seccomp.security.alpha.kubernetes.io/pod';
const containerSeccomp = 'container.seccomp.security.alpha.kubernetes.io/';
const containerAppArmor = 'container.apparmor.security.beta.kubernetes.io/';
const inBytes = ['memory', 'ephemeral-storage'];

/** Old names of node labels, wherever a pod chooses its nodes by them. */
function nodeLabelWarnings(podSpec: Decoded<PodSpec>, path: string): string[] {
  const selected = Object.keys(podSpec.nodeSelector ?? {}).flatMap((key) => {
    const word = endedNodeLabel(key);
    return word === undefined ? [] : [`${path}.nodeSelector[${key}]: ${word}`];
  });
  const affinity = podSpec.affinity?.nodeAffinity ?? {};
  const at = `${path}.affinity.nodeAffinity`;
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  return [
    ...selected,
    ...(affinity[required]?.nodeSelectorTerms ?? []).flatMap((term, i) =>
      selectorTermWarnings(term, `${at}.${required}.nodeSelectorTerms[${i}]`, false),
    ),
    ...(affinity[preferred] ?? []).flatMap((item, i) =>
      selectorTermWarnings(item.preference ?? {}, `${at}.${preferred}[${i}].preference`, true),
    ),
    ...(podSpec.topologySpreadConstraints ?? []).flatMap((constraint, i) => {
      const key = constraint.topologyKey ?? '';
      const word = endedNodeLabel(key);
      const here = `${path}.topologySpreadConstraints[${i}]`;
      return [
        ...(word === undefined ? [] : [`${here}.topologyKey: ${key} is ${word}`]),
        ...(constraint.labelSelector !== undefined
          ? []
          : [`${here}.labelSelector: a null labelSelector results in matching no pod`]),
      ];
    }),
  ];
}

const annotationWarnings = (metadata: Decoded<ObjectMeta>, path: string): string[] =>
  Object.entries(endedAnnotations).flatMap(([key, word]) =>
    Object.hasOwn(metadata.annotations ?? {}, key) ? [`${path}.annotations[${key}]: ${word}`] : [],
  );

interface Port {
  readonly at: string;
  readonly hostIP: string;
  readonly hostPort: number;
}

/** What two definitions of one port and protocol are to each other. */
function clash(a: Port, b: Port): string | undefined {
  if (a.hostIP === b.hostIP && a.hostPort === b.hostPort) return 'duplicate';
  if (a.hostPort === 0 || b.hostPort === 0) return 'overlapping';
  const oneIsOpen = (a.hostIP === '') !== (b.hostIP === '');
  return a.hostPort === b.hostPort && oneIsOpen ? 'dangerously ambiguous' : undefined;
}

/** As Go prints it. */
const portText = (port: Decoded<ContainerPort>): string =>
  `{Name:${port.name ?? ''} HostPort:${port.hostPort ?? 0} ContainerPort:${port.containerPort ?? 0} Protocol:${port.protocol ?? ''} HostIP:${port.hostIP ?? ''}}`;

/** At most this many warnings of ports: the answer's head must not grow with the square of the ports. */
const mostPortWarnings = 20;
/** Nor the work: a port is compared with the first of its number only. */
const mostCompared = 100;

function portWarnings(podSpec: Decoded<PodSpec>, path: string): string[] {
  const out: string[] = [];
  const known = new Map<string, Port[]>();
  for (const list of ['initContainers', 'containers'] as const)
    (podSpec[list] ?? []).forEach((container, c) => {
      (container.ports ?? []).forEach((port, i) => {
        const at = `${path}.${list}[${c}].ports[${i}]`;
        const own = { at, hostIP: port.hostIP ?? '', hostPort: port.hostPort ?? 0 };
        if (own.hostIP !== '' && own.hostPort === 0 && out.length < mostPortWarnings)
          out.push(`${at}: hostIP set without hostPort: ${portText(port)}`);
        const key = `${port.containerPort ?? 0}/${port.protocol ?? ''}`;
        const others = known.get(key) ?? [];
        for (const other of others) {
          if (out.length === mostPortWarnings) return;
          const word = clash(own, other);
          if (word !== undefined) out.push(`${at}: ${word} port definition with ${other.at}`);
        }
        if (others.length < mostCompared) others.push(own);
        known.set(key, others);
      });
    });
  return out;
}

/** Services and probes that ask for a port by its name find the first one. */
function portNameWarnings(podSpec: Decoded<PodSpec>, path: string): string[] {
  const out: string[] = [];
  const known = new Map<string, string>();
  for (const list of ['initContainers', 'containers'] as const)
    (podSpec[list] ?? []).forEach((container, c) => {
      (container.ports ?? []).forEach(({ name = '' }, i) => {
        const at = `${path}.${list}[${c}].ports[${i}]`;
        const other = known.get(name);
        if (name === '' || out.length === mostPortWarnings) return;
        if (other === undefined) known.set(name, at);
        else
          out.push(
            `${at}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`,
          );
      });
    });
  return out;
}

function podSpecWarnings(podSpec: Decoded<PodSpec>, metadata: Decoded<ObjectMeta>, at: string): string[] {
  const path = `${at}spec`;
  const annotated = `${at}metadata`;
  const { annotations = {} } = metadata;
  const out: string[] = [
    ...nodeLabelWarnings(podSpec, path),
    ...annotationWarnings(metadata, annotated),
    ...podVolumeWarnings(podSpec.volumes ?? [], `${path}.volumes`),
    ...nameWarnings(podSpec, path),
    ...fractionWarnings(`${path}.overhead`, podSpec.overhead, inBytes),
  ];
  if (podSpec.securityContext?.seccompProfile === undefined && annotations[podSeccomp] !== undefined)
    out.push(seccompWarning(annotated, podSeccomp));
  const podProfile = podSpec.securityContext?.appArmorProfile;
  for (const list of ['initContainers', 'containers'] as const)
    (podSpec[list] ?? []).forEach((container, i) => {
      out.push(
        ...profileWarnings(container, annotations, podProfile, annotated),
        ...containerWarnings(container, `${path}.${list}[${i}]`),
      );
    });
  out.push(...portWarnings(podSpec, path), ...portNameWarnings(podSpec, path));
  if ((podSpec.terminationGracePeriodSeconds ?? 0) < 0)
    out.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  return [...out, ...selectorWarnings(podSpec, path), ...addressWarnings(podSpec, path)];
}

const addressWarnings = (podSpec: Decoded<PodSpec>, path: string): string[] => [
  ...(podSpec.dnsConfig?.nameservers ?? []).flatMap((ip, i) =>
    ipWarnings(`${path}.dnsConfig.nameservers[${i}]`, ip),
  ),
  ...(podSpec.hostAliases ?? []).flatMap(({ ip = '' }, i) => ipWarnings(`${path}.hostAliases[${i}].ip`, ip)),
];

const seccompWarning = (path: string, key: string): string =>
  `${path}.annotations[${key}]: non-functional in v1.27+; use the "seccompProfile" field instead`;

const localhost = 'localhost/';
function profileOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  return annotation.startsWith(localhost)
    ? { type: 'Localhost', localhostProfile: annotation.slice(localhost.length) }
    : undefined;
}

/** Profiles that are said by annotations, as they were once. */
function profileWarnings(
  { name = '', securityContext = {} }: Decoded<Container>,
  annotations: Readonly<Record<string, string | undefined>>,
  podProfile: Decoded<AppArmorProfile> | undefined,
  path: string,
): string[] {
  const [seccomp, appArmor] = [`${containerSeccomp}${name}`, `${containerAppArmor}${name}`];
  const profile = annotations[appArmor];
  const isSaid = podProfile !== undefined && semanticEqual(podProfile, profileOf(profile ?? ''));
  return [
    ...(securityContext.seccompProfile === undefined && annotations[seccomp] !== undefined
      ? [seccompWarning(path, seccomp)]
      : []),
    ...(securityContext.appArmorProfile === undefined && profile !== undefined && !isSaid
      ? [`${path}.annotations[${appArmor}]: deprecated since v1.30; use the "appArmorProfile" field instead`]
      : []),
  ];
}

/** Names that say nothing, or say it twice. */
function nameWarnings(podSpec: Decoded<PodSpec>, path: string): string[] {
  const repeated = (values: readonly string[], at: (i: number) => string): string[] => {
    const seen = new Set<string>();
    return values.flatMap((value, i) => {
      const again = seen.has(value);
      seen.add(value);
      return again ? [`${at(i)} ${JSON.stringify(value)}`] : [];
    });
  };
  const addresses = (podSpec.hostAliases ?? []).map(({ ip = '' }) => ip);
  const secrets = (podSpec.imagePullSecrets ?? []).map(({ name = '' }) => name);
  return [
    ...repeated(addresses, (i) => `${path}.hostAliases[${i}].ip: duplicate ip`),
    ...repeated(secrets, (i) => `${path}.imagePullSecrets[${i}].name: duplicate name`),
    ...secrets.flatMap((name, i) =>
      name === '' ? [`${path}.imagePullSecrets[${i}].name: invalid empty name ""`] : [],
    ),
  ];
}

/** Affinity to pods that no selector names. */
function selectorWarnings({ affinity = {} }: Decoded<PodSpec>, path: string): string[] {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  const word = 'labelSelector: a null labelSelector results in matching no pod';
  return (['podAffinity', 'podAntiAffinity'] as const).flatMap((kind) => {
    const at = `${path}.affinity.${kind}`;
    const { [required]: hard = [], [preferred]: soft = [] } = affinity[kind] ?? {};
    return [
      ...hard.flatMap((term, i) =>
        term.labelSelector === undefined ? [`${at}.${required}[${i}].${word}`] : [],
      ),
      ...soft.flatMap(({ podAffinityTerm: term = {} }, i) =>
        term.labelSelector === undefined ? [`${at}.${preferred}[${i}].podAffinityTerm.${word}`] : [],
      ),
    ];
  });
}

/** The later of two definitions, unless it is made of the one before. */
function hidesEarlier({ name = '', value = '', valueFrom }: Decoded<EnvVar>): boolean {
  const reference = `$(${name})`;
  return valueFrom !== undefined || value === reference || !value.includes(reference);
}

function containerWarnings(container: Decoded<Container>, at: string): string[] {
  const out = (['limits', 'requests'] as const).flatMap((list) => [
    ...fractionWarnings(`${at}.resources.${list}`, container.resources?.[list], ['memory']),
  ]);
  for (const list of ['limits', 'requests'] as const)
    out.push(
      ...fractionWarnings(`${at}.resources.${list}`, container.resources?.[list], ['ephemeral-storage']),
    );
  const names = new Set<string>();
  (container.env ?? []).forEach((variable, i) => {
    const name = variable.name ?? '';
    if (names.has(name) && hidesEarlier(variable))
      out.push(
        `${at}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      );
    names.add(name);
  });
  return out;
}

/** Of a new pod; an update does not repeat them. */
export function podWarnings(pod: Decoded<Pod>, old: Decoded<Pod> | undefined): string[] {
  if (old) return [];
  const unfit = dnsLabel(pod.metadata?.name ?? '');
  return [
    ...(unfit.length > 0
      ? [
          `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${unfit.join(' ')}]`,
        ]
      : []),
    ...podSpecWarnings(pod.spec ?? {}, pod.metadata ?? {}, ''),
  ];
}

/** Of the pods that a template makes; `at`: `spec.template`. */
export const podTemplateWarnings = (
  template: Decoded<PodTemplateSpec> | undefined,
  at = 'spec.template',
): string[] => podSpecWarnings(template?.spec ?? {}, template?.metadata ?? {}, `${at}.`);

/** Of a kind whose pods are named after it. */
export function workloadNameWarnings(name: string | undefined): string[] {
  const unfit = dnsLabel(name ?? '');
  return unfit.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${unfit.join(' ')}]`,
      ];
}

type Workload = Decoded<{ metadata: ObjectMeta; spec: { template: PodTemplateSpec } }>;

/** An update that leaves the spec as it is says nothing new. */
export const isSameGeneration = (
  object: Pick<Workload, 'metadata'>,
  old: Pick<Workload, 'metadata'>,
): boolean => object.metadata?.generation === old.metadata?.generation;

/** Of a workload whose template is in `spec.template`. */
export function templateWarnings(object: Workload, old?: Workload): string[] {
  return old !== undefined && isSameGeneration(object, old) ? [] : podTemplateWarnings(object.spec?.template);
}

/** The same, of one whose pods are named after it. */
export const namedWorkloadWarnings = (object: Workload, old: Workload | undefined): string[] => [
  ...(old === undefined ? workloadNameWarnings(object.metadata?.name) : []),
  ...templateWarnings(object, old),
];
