// Metadata of a write that is about something else: all stays, but for what says which object and state is meant.
const meant: readonly string[] = ['name', 'namespace', 'uid', 'resourceVersion', 'managedFields'];

/** As upstream's strategies of subresources that start from the stored object. */
export function keptMetadata<Meta extends object>(now: Meta, old: Meta): Meta {
  const kept: Meta = { ...old };
  for (const field of meant as readonly (keyof Meta)[]) {
    if (now[field] === undefined) delete kept[field];
    else kept[field] = now[field];
  }
  return kept;
}
