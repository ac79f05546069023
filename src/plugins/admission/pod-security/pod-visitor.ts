// Words and walks that the Pod Security checks share.
import type { Container, PodSpec, SecurityContext } from '../../../api/generated/types/core-v1.ts';

/** What is judged: a pod, or the pod that a template makes. */
export interface JudgedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

/** One violated check: `privileged (container "c" must not set securityContext.privileged=true)`. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export type Check = (pod: JudgedPod) => Violation | undefined;

export interface PodSecurityCheck {
  /** Upstream's; the order of what is said. */
  readonly id: string;
  /** The rule by the minor version of the policy from which it holds, rising. */
  readonly versions: readonly {
    readonly since: number;
    readonly check: Check;
    /** Of a restricted check: the baseline check that it replaces. */
    readonly overrides?: string;
  }[];
}

export const containersOf = (spec: PodSpec): Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...((spec.ephemeralContainers ?? []) as Container[]),
];

/** Upstream puts quotes around names and escapes nothing. */
export const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
export const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();
export const plural = (word: string, count: number): string => (count === 1 ? word : `${word}s`);

/** `container "a"` or `containers "a", "b"`. */
export const containersText = (names: readonly string[]): string =>
  `${plural('container', names.length)} ${quoted(names)}`;

const namesOf = (spec: PodSpec, bad: (container: Container) => boolean): string[] =>
  containersOf(spec)
    .filter(bad)
    .map((container) => container.name);

/** A check of single containers. */
export function containersThat(
  spec: PodSpec,
  bad: (container: Container) => boolean,
  reason: string,
  what: string,
): Violation | undefined {
  const names = namesOf(spec, bad);
  return names.length === 0 ? undefined : { reason, detail: `${containersText(names)} ${what}` };
}

/** Where the pod or its containers set something bad: `pod and container "c"`; '' when nobody does. */
export function setters(spec: PodSpec, bad: (context: Partial<SecurityContext>) => boolean): string {
  const inPod = bad((spec.securityContext ?? {}) as Partial<SecurityContext>);
  const names = namesOf(spec, (container) => bad(container.securityContext ?? {}));
  return [inPod ? 'pod' : '', names.length > 0 ? containersText(names) : '']
    .filter((text) => text !== '')
    .join(' and ');
}

/** Values of a field of all security contexts, the pod's first; undefined where it is not set. */
export const contextsOf = (spec: PodSpec): Partial<SecurityContext>[] => [
  (spec.securityContext ?? {}) as Partial<SecurityContext>,
  ...containersOf(spec).map((container) => container.securityContext ?? {}),
];

const isWindows = (spec: PodSpec): boolean => spec.os?.name === 'windows';
/** Since 1.25 the rules of Linux are not asked of pods that say they are for Windows. */
export const unlessWindows =
  (check: Check): Check =>
  (pod) =>
    isWindows(pod.spec) ? undefined : check(pod);

/** Since 1.35 root in a user namespace is not root of the node. */
export const unlessUserNamespace =
  (check: Check): Check =>
  (pod) =>
    pod.spec.hostUsers === false ? undefined : check(pod);
