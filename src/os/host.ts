// The machine as the node agent sees it: one port for each thing it does.
import type { Beneath } from './beneath.ts';
import type { Cgroups } from './cgroups.ts';
import type { Files } from './files.ts';
import type { Mounts } from './mounts.ts';
import type { Processes } from './processes.ts';
import type { HostStats } from './stats.ts';

export interface Host {
  readonly platform: 'linux' | 'windows';
  readonly files: Files;
  readonly mounts: Mounts;
  readonly processes: Processes;
  readonly stats: HostStats;
  readonly cgroups?: Cgroups;
  /** Absent where no pod's files are: a simulated node, the command line. */
  readonly beneath?: Beneath;
}
