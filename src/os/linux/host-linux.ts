// This Linux machine.
import type { Host } from '../host.ts';
import { createLinuxBeneath } from './beneath-linux.ts';
import { createLinuxCgroups } from './cgroups-linux.ts';
import { linuxFiles } from './files-linux.ts';
import { createLinuxMounts } from './mounts-linux.ts';
import { linuxProcesses } from './processes-linux.ts';
import { linuxHostStats } from './stats-linux.ts';

/** `programs`: native programs that were compiled for this machine. */
export function createLinuxHost(programs: { readonly beneath?: string } = {}): Host {
  return {
    platform: 'linux',
    files: linuxFiles,
    mounts: createLinuxMounts(linuxProcesses),
    processes: linuxProcesses,
    stats: linuxHostStats,
    cgroups: createLinuxCgroups(),
    ...(programs.beneath === undefined
      ? {}
      : { beneath: createLinuxBeneath(linuxProcesses, programs.beneath) }),
  };
}
