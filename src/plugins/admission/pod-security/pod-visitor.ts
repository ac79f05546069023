// Words and walks that the Pod Security checks share.
import type { Container, PodSpec } from '../../../api/generated/types/core-v1.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';

/** One violated check: `privileged (container "c" must not set securityContext.privileged=true)`. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface PodSecurityCheck {
  readonly level: 'baseline' | 'restricted';
  /** A restricted check of the same id takes the place of the baseline one. */
  readonly id: string;
  check(spec: PodSpec): Violation | undefined;
}

export const containersOf = (spec: PodSpec): Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...((spec.ephemeralContainers ?? []) as Container[]),
];

export const quoted = (names: readonly string[]): string =>
  names.map((name) => JSON.stringify(name)).join(', ');

/** `container "a"` or `containers "a", "b"`. */
export const containersText = (list: readonly Container[]): string =>
  `container${list.length === 1 ? '' : 's'} ${quoted(list.map((container) => container.name))}`;

export const isWindows = (spec: PodSpec): boolean => spec.os?.name === 'windows';

/** A check of single containers. */
export const containersThat = (
  spec: PodSpec,
  fails: (container: Container) => boolean,
  reason: string,
  what: string,
): Violation | undefined => {
  const bad = containersOf(spec).filter(fails);
  return bad.length === 0 ? undefined : { reason, detail: `${containersText(bad)} ${what}` };
};
