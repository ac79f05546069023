// Groups of pods that nobody knows any more: what a kubelet left that died in the middle, and what a runtime makes again for a pod that is gone.
import type { Cgroups } from '../../os/cgroups.ts';
import { qosCgroups } from './qos.ts';

/** Of the pods that have a group. */
export async function uidsOfCgroups(cgroups: Cgroups, root: string): Promise<string[]> {
  const names = await Promise.all(qosCgroups(root).map((group) => cgroups.children(group)));
  return names.flat().flatMap((name) => /^pod(.+)$/.exec(name)?.[1] ?? []);
}

/** Of a pod of which nothing but the uid is known. */
export async function removePodCgroups(cgroups: Cgroups, root: string, uid: string): Promise<void> {
  for (const group of qosCgroups(root)) await cgroups.remove(`${group}/pod${uid}`);
}
