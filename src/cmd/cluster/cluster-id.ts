// What tells a cluster from all others of the machine: its name, and a short hash of its home and name.
import { contentKey } from '../../component-base/content-hash.ts';

const hashLength = 8;

/** Names of namespaces, bridges and tables are made of it. `home` is a real path (see `portholeHome`). */
export const clusterId = (home: string, name: string): string =>
  `${name}-${contentKey([home, name]).slice(0, hashLength)}`;
