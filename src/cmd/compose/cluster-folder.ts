// How the folder of a cluster that `up` made is known, also one whose record is gone.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const clusterFiles = { record: 'cluster.json', credentials: 'credentials.json' } as const;

/** Of the record: written after it, so that one of the two is always whole. */
export const copyOf = (record: string): string => `${record}.copy`;

/** What `up` makes after the record, and `down` removes before it: who finds one of these finds a cluster. */
const traces: readonly string[] = ['nodes', 'supervision.json', 'supervisor.json'];

export const isClusterFolder = (root: string): boolean =>
  [clusterFiles.record, copyOf(clusterFiles.record), ...traces].some((name) => existsSync(join(root, name)));
