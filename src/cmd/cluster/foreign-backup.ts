// A backup of another cluster: its nodes have addresses that this one does not route. Pure.
import { isWithin, parseCidr } from '../../base/ip.ts';

interface BackupObjects {
  readonly entries: readonly { readonly key: string; readonly value: Uint8Array }[];
}

const nodesPrefix = '/registry/core/nodes/';

function podCidrOf(value: Uint8Array): string | undefined {
  try {
    const node = JSON.parse(Buffer.from(value).toString()) as { spec?: { podCIDR?: unknown } };
    return typeof node.spec?.podCIDR === 'string' ? node.spec.podCIDR : undefined;
  } catch {
    return undefined; // what can't be read comes back as it was, and is nobody's node
  }
}

/** Throws Error with the next step when a node of the backup has pods outside of the cluster's prefix. */
export function refuseForeignBackup(
  backup: BackupObjects,
  cluster: { readonly name: string; readonly clusterCidr: string },
): void {
  const whole = parseCidr(cluster.clusterCidr);
  if (whole === undefined) return;
  const foreign = backup.entries
    .filter(({ key }) => key.startsWith(nodesPrefix))
    .flatMap(({ value }) => podCidrOf(value) ?? [])
    .find((cidr) => {
      const part = parseCidr(cidr);
      return part !== undefined && !isWithin(part, whole);
    });
  if (foreign === undefined) return;
  throw Object.assign(
    new Error(
      `the backup is of another cluster: a node of it has pods at ${foreign}, those of ${JSON.stringify(cluster.name)} are in ${cluster.clusterCidr}`,
    ),
    {
      next: 'restore it to the cluster that it is of; or add --force, and afterwards delete the nodes that come with it (kubectl delete node)',
    },
  );
}
