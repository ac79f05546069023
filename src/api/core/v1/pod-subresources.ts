// What each subresource of a pod may write: the rest of what was sent is left aside, as upstream does.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { keptMetadata } from '../../../apimachinery/kept-metadata.ts';
import type { Container, Pod, PodSpec } from '../../generated/types/core-v1.ts';

/** `pod` becomes the stored pod with `podSpec`. */
function becomes(pod: Decoded<Pod>, old: Decoded<Pod>, podSpec: Decoded<PodSpec>): void {
  const metadata = keptMetadata(pod.metadata ?? {}, old.metadata ?? {});
  Object.assign(pod, old, { kind: pod.kind, apiVersion: pod.apiVersion, metadata, spec: podSpec });
  if (old.status === undefined) delete pod.status;
}

function setOrDelete<T extends object, Key extends keyof T>(object: T, key: Key, value: T[Key]): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}

type Containers = Decoded<Container[]> | undefined;

/** The stored containers with the resources that were sent; as sent when they are not the same ones: refused later. */
function resized(sent: Containers, before: Containers = []): Containers {
  const after = sent ?? [];
  if (after.length !== before.length || after.some((c, i) => c.name !== before[i]!.name)) return sent;
  return before.map((container, i) => {
    const next = { ...container };
    setOrDelete(next, 'resources', after[i]!.resources);
    setOrDelete(next, 'resizePolicy', after[i]!.resizePolicy);
    return next;
  });
}

export function preparePodUpdate(
  pod: Decoded<Pod>,
  old: Decoded<Pod>,
  { subresource }: { readonly subresource: string },
): void {
  const sent = pod.spec ?? {};
  const kept: Decoded<PodSpec> = { ...old.spec };
  switch (subresource) {
    case 'ephemeralcontainers':
      setOrDelete(kept, 'ephemeralContainers', sent.ephemeralContainers);
      becomes(pod, old, kept);
      break;
    case 'resize':
      setOrDelete(kept, 'containers', resized(sent.containers, kept.containers));
      setOrDelete(kept, 'initContainers', resized(sent.initContainers, kept.initContainers));
      setOrDelete(kept, 'resources', sent.resources);
      becomes(pod, old, kept);
      break;
  }
}
