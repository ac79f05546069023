// For which operating system a pod is, in a cluster with nodes of several: as it says, as its images say, else Linux.
import type { Node, PodSpec } from '../api/generated/types/core-v1.ts';
import { parseImageReference } from './image-reference.ts';

const osLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/os',
  'beta.kubernetes.io/os',
  'node.kubernetes.io/windows-build',
]);

/** What is asked of a node. */
export interface SystemNode {
  readonly labels: Readonly<Record<string, string>> | undefined;
  hasImage(name: string): boolean;
}

/** `nginx` is `nginx:latest` in a node's list of images; nodes list tags as they were pulled. */
export function taggedImageName(name: string): string {
  return name.lastIndexOf(':') <= name.lastIndexOf('/') && !name.includes('@') ? `${name}:latest` : name;
}

/** As nodes list it: in full, or as it was loaded. */
function listedNames(image: string): readonly string[] {
  const found = parseImageReference(image);
  if (found === undefined) return [image];
  const end = `${found.tag === '' ? '' : `:${found.tag}`}${found.digest === '' ? '' : `@${found.digest}`}`;
  return [taggedImageName(image), `${found.registry}/${found.path}${end}`];
}

const osOf = (node: SystemNode): string | undefined => node.labels?.['kubernetes.io/os'];

export const systemOf = ({ metadata }: Pick<Node, 'metadata'>): string | undefined =>
  metadata.labels?.['kubernetes.io/os'];

/** A pod that does not say for which it is may be for either. */
export const isMixed = (systems: ReadonlySet<string | undefined>): boolean =>
  systems.has('linux') && systems.has('windows');

/** Selector and affinity decide by themselves when they name the system. */
function selectsSystem(spec: PodSpec): boolean {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const keys = [
    ...Object.keys(spec.nodeSelector ?? {}),
    ...(required?.nodeSelectorTerms ?? []).flatMap((term) =>
      (term.matchExpressions ?? []).map(({ key }) => key),
    ),
  ];
  return keys.some((key) => osLabels.has(key));
}

const hasWindowsOptions = (spec: PodSpec): boolean =>
  [spec, ...spec.containers, ...(spec.initContainers ?? [])].some(
    ({ securityContext }) => securityContext?.windowsOptions !== undefined,
  );

/** An image that Windows nodes alone have. One that Linux nodes have as well runs there. */
function hasWindowsImage(spec: PodSpec, nodes: readonly SystemNode[]): boolean {
  const images = [...(spec.initContainers ?? []), ...spec.containers].map(({ image }) =>
    listedNames(image ?? ''),
  );
  return images.some((names) => {
    const holders = nodes.filter((node) => names.some((name) => node.hasImage(name)));
    return holders.length > 0 && holders.every((node) => osOf(node) === 'windows');
  });
}

/**
 * `linux` or `windows`; undefined: any, because the cluster is of one system, or because the pod's selector or affinity
 * names the system and is matched anyway.
 */
export function podSystem(spec: PodSpec, nodes: readonly SystemNode[]): string | undefined {
  if (spec.os !== undefined) return spec.os.name;
  if (!isMixed(new Set(nodes.map(osOf))) || selectsSystem(spec)) return undefined;
  return hasWindowsOptions(spec) || hasWindowsImage(spec, nodes) ? 'windows' : 'linux';
}

/** A node that does not say its system takes every pod. */
export function isOfSystem(
  labels: Readonly<Record<string, string>> | undefined,
  system: string | undefined,
): boolean {
  const os = labels?.['kubernetes.io/os'];
  return system === undefined || os === undefined || os === system;
}
