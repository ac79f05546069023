// All containers of a pod that runs or will, each with the path that errors name.
import type { Container, EphemeralContainer, PodSpec } from '../../../api/generated/types/core-v1.ts';

/** Validation comes later: lists that must be there may be missing. */
export function* allContainers(spec: PodSpec): Generator<readonly [string, Container | EphemeralContainer]> {
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const)
    for (const [i, container] of (spec[list] ?? []).entries()) yield [`spec.${list}[${i}]`, container];
}
