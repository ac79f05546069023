// What a client is warned of although it is allowed, as upstream's pod warnings.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { tryParseQuantity } from '../../../apimachinery/quantity.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import type {
  Container,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  PodTemplateSpec,
} from '../../generated/types/core-v1.ts';
import type { ObjectMeta } from '../../generated/types/meta-v1.ts';

/** Kinds of volumes that no kubelet of today knows any more: such a pod is taken, and can never run. */
const endedVolumes: Readonly<Record<string, string>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};
/** As upstream writes them in the path, where that is not the name of the field. */
const shownVolumes: Readonly<Record<string, string>> = { storageos: 'storageOS' };

const endedLabels: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region':
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone':
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type':
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
};
const endedAnnotations: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod':
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
};
const wordOf = (words: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(words, name) ? words[name] : undefined;

function termWarnings(term: Decoded<NodeSelectorTerm>, path: string): string[] {
  return (term.matchExpressions ?? []).flatMap((expression, i) => {
    const key = expression.key ?? '';
    const word = wordOf(endedLabels, key);
    return word === undefined ? [] : [`${path}.matchExpressions[${i}].key: ${key} is ${word}`];
  });
}

/** Old names of node labels, wherever a pod chooses its nodes by them. */
function nodeLabelWarnings(podSpec: Decoded<PodSpec>, path: string): string[] {
  const selected = Object.keys(podSpec.nodeSelector ?? {}).flatMap((key) => {
    const word = wordOf(endedLabels, key);
    return word === undefined ? [] : [`${path}.nodeSelector[${key}]: ${word}`];
  });
  const affinity = podSpec.affinity?.nodeAffinity ?? {};
  const at = `${path}.affinity.nodeAffinity`;
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  return [
    ...selected,
    ...(affinity[required]?.nodeSelectorTerms ?? []).flatMap((term, i) =>
      termWarnings(term, `${at}.${required}.nodeSelectorTerms[${i}]`),
    ),
    ...(affinity[preferred] ?? []).flatMap((item, i) =>
      termWarnings(item.preference ?? {}, `${at}.${preferred}[${i}].preference`),
    ),
    ...(podSpec.topologySpreadConstraints ?? []).flatMap((constraint, i) => {
      const key = constraint.topologyKey ?? '';
      const word = wordOf(endedLabels, key);
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

function podSpecWarnings(podSpec: Decoded<PodSpec>, path: string): string[] {
  const out: string[] = nodeLabelWarnings(podSpec, path);
  (podSpec.volumes ?? []).forEach((volume, i) => {
    for (const [kind, word] of Object.entries(endedVolumes))
      if (Object.hasOwn(volume, kind))
        out.push(`${path}.volumes[${i}].${shownVolumes[kind] ?? kind}: ${word}`);
  });
  for (const list of ['initContainers', 'containers'] as const)
    (podSpec[list] ?? []).forEach((container, i) => {
      out.push(...containerWarnings(container, `${path}.${list}[${i}]`));
    });
  out.push(...portWarnings(podSpec, path));
  out.push(...nameWarnings(podSpec, path), ...selectorWarnings(podSpec, path));
  if ((podSpec.terminationGracePeriodSeconds ?? 0) < 0)
    out.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  return out;
}

/** Names that say nothing, or say it twice. */
function nameWarnings(podSpec: Decoded<PodSpec>, path: string): string[] {
  const repeated = (values: readonly string[], at: (i: number) => string): string[] =>
    values.flatMap((value, i) => (values.indexOf(value) < i ? [`${at(i)} ${JSON.stringify(value)}`] : []));
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

function containerWarnings(container: Decoded<Container>, at: string): string[] {
  const out: string[] = [];
  const names = new Set<string>();
  (container.env ?? []).forEach((variable, i) => {
    const name = variable.name ?? '';
    if (names.has(name))
      out.push(
        `${at}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      );
    names.add(name);
  });
  for (const list of ['limits', 'requests'] as const) {
    const memory = container.resources?.[list]?.memory;
    const quantity = tryParseQuantity(memory);
    if (quantity && quantity.nano % 1_000_000_000n !== 0n)
      out.push(
        `${at}.resources.${list}[memory]: fractional byte value ${JSON.stringify(memory)} is invalid, must be an integer`,
      );
  }
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
    ...annotationWarnings(pod.metadata ?? {}, 'metadata'),
    ...podSpecWarnings(pod.spec ?? {}, 'spec'),
  ];
}

/** Of a workload whose template is in `spec.template`. */
export function templateWarnings(object: Decoded<{ spec: { template: PodTemplateSpec } }>): string[] {
  const template = object.spec?.template ?? {};
  return [
    ...annotationWarnings(template.metadata ?? {}, 'spec.template.metadata'),
    ...podSpecWarnings(template.spec ?? {}, 'spec.template.spec'),
  ];
}
