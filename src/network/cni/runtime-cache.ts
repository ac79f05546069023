// The runtime's CNI library remembers each attachment in one folder of the machine, whose ever the containers are:
// `<network>-<container>-<interface>`. What is never detached, as the pods of a node that is taken down, stays there.
import type { Files } from '../../os/files.ts';

/** libcni's own; containerd has no setting for it. */
const runtimeCacheDir = '/var/lib/cni/results';

/** Removes what is remembered of the containers of a network, of their loopback, too. */
export async function forgetAttachments(
  files: Pick<Files, 'list' | 'remove' | 'stat'>,
  network: string,
  directory: string = runtimeCacheDir,
): Promise<void> {
  if ((await files.stat(directory)) === undefined) return;
  const names = await files.list(directory);
  const containers = new Set(
    names
      .filter((name) => name.startsWith(`${network}-`))
      .flatMap((name) => /^-([0-9a-f]+)-[^-]+$/.exec(name.slice(network.length))?.[1] ?? []),
  );
  for (const name of names) {
    const [, owner, container = ''] = /^(.+)-([0-9a-f]+)-[^-]+$/.exec(name) ?? [];
    if ((owner === network || owner === 'cni-loopback') && containers.has(container))
      await files.remove(`${directory}/${name}`);
  }
}
