// This Linux machine.
import type { Host } from '../host.ts';
import { createLinuxCgroups } from './cgroups-linux.ts';
import { linuxFiles } from './files-linux.ts';
import { createLinuxMounts } from './mounts-linux.ts';
import { linuxProcesses } from './processes-linux.ts';
import { linuxHostStats } from './stats-linux.ts';

export function createLinuxHost(): Host {
  return {
    platform: 'linux',
    files: linuxFiles,
    mounts: createLinuxMounts(linuxProcesses),
    processes: linuxProcesses,
    stats: linuxHostStats,
    cgroups: createLinuxCgroups(),
  };
}
