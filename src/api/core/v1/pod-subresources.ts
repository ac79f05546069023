// What each subresource of a pod may write: the rest of what was sent is left aside, as upstream does.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { isObject, meta, objs, spec } from '../../../apimachinery/json-access.ts';
import { keptMetadata } from '../../../apimachinery/kept-metadata.ts';

/** `pod` becomes the stored pod with `podSpec`. */
function becomes(pod: JsonObject, old: JsonObject, podSpec: JsonObject): void {
  const metadata = keptMetadata(meta(pod), meta(old));
  for (const key of Object.keys(pod)) if (key !== 'kind' && key !== 'apiVersion') delete pod[key];
  for (const [key, value] of Object.entries(old)) if (!Object.hasOwn(pod, key)) pod[key] = value;
  pod['metadata'] = metadata;
  pod['spec'] = podSpec;
}

function setOrDelete(object: JsonObject, key: string, value: Json | undefined): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}

/** The stored containers with the resources that were sent; as sent when they are not the same ones: refused later. */
function resized(sent: Json | undefined, old: Json | undefined): Json | undefined {
  const before = objs(old);
  const after = objs(sent);
  if (after.length !== before.length || after.some((c, i) => c['name'] !== before[i]!['name'])) return sent;
  return before.map((container, i) => {
    const next = { ...container };
    setOrDelete(next, 'resources', after[i]!['resources']);
    setOrDelete(next, 'resizePolicy', after[i]!['resizePolicy']);
    return next;
  });
}

export function preparePodUpdate(
  pod: JsonObject,
  old: JsonObject,
  { subresource }: { readonly subresource: string },
): void {
  const sent = spec(pod);
  const kept = { ...spec(old) };
  switch (subresource) {
    case 'ephemeralcontainers':
      setOrDelete(kept, 'ephemeralContainers', sent['ephemeralContainers']);
      becomes(pod, old, kept);
      break;
    case 'resize':
      setOrDelete(kept, 'containers', resized(sent['containers'], kept['containers']));
      setOrDelete(kept, 'initContainers', resized(sent['initContainers'], kept['initContainers']));
      setOrDelete(kept, 'resources', sent['resources']);
      becomes(pod, old, kept);
      break;
    case 'status':
      // Kubelets of old lost owners here.
      if (isObject(pod['metadata']))
        setOrDelete(pod['metadata'], 'ownerReferences', meta(old)['ownerReferences']);
      break;
  }
}
