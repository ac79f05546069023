// The flags by which backup, restore and repair name a server's data directory.
import type { Command } from 'commander';
import { clusterPaths } from './cluster/cluster-state.ts';
import { portholeHome } from './setup/locations.ts';

export interface DataFlags {
  readonly dataDir?: string;
  readonly name: string;
}

export const withDataOptions = (command: Command): Command =>
  command
    .option('--data-dir <folder>', 'the data directory of a server')
    .option('--name <name>', 'or a cluster that porthole up made', 'default');

/** Undefined: a data directory was given, whosever it is. */
export const clusterOf = ({ dataDir, name }: DataFlags): { home: string; name: string } | undefined =>
  dataDir === undefined ? { home: portholeHome(), name } : undefined;

export const dataDirOf = ({ dataDir, name }: DataFlags): string =>
  dataDir ?? clusterPaths(portholeHome(), name).server;
