// Where what a container mounts is held for it while it starts, as upstream's volume-subpaths: paths that no pod can change.
import type { Beneath } from '../../os/beneath.ts';
import type { Files } from '../../os/files.ts';

export interface PinHost {
  readonly files: Files;
  readonly beneath: Beneath;
}

const pinsOfPod = (podDir: string): string => `${podDir}/volume-subpaths`;

export const pinsOf = (podDir: string, volume: string, container: string): string =>
  `${pinsOfPod(podDir)}/${volume}/${container}`;

/** Unmounts what a container had of one volume; nothing there is fine. */
export async function releasePins({ files, beneath }: PinHost, folder: string): Promise<void> {
  const names = await files.list(folder);
  for (const name of names) await beneath.release(`${folder}/${name}`);
  if (names.length > 0) await beneath.remove(folder);
}

/** Everything that is left of a pod, also by an agent that ended in between. */
export async function releasePodPins(host: PinHost, podDir: string): Promise<void> {
  for (const volume of await host.files.list(pinsOfPod(podDir))) {
    for (const container of await host.files.list(`${pinsOfPod(podDir)}/${volume}`)) {
      await releasePins(host, pinsOf(podDir, volume, container));
    }
  }
}
