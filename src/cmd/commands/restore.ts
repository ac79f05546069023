// porthole restore: a backup becomes the store of a server; that of a cluster that `up` made is stopped for it.
import { Command } from 'commander';
import { clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { refuseForeignBackup } from '../cluster/foreign-backup.ts';
import { withServerStopped } from '../cluster/with-server-stopped.ts';
import { checkRestore, readBackup, restoreBackup } from '../compose/backups.ts';
import { clusterOf, type DataFlags, dataDirOf, withDataOptions } from '../data-options.ts';
import { type Output, outputOption, tell } from '../output-option.ts';
import { progressOnStderr } from '../progress.ts';

interface Flags extends DataFlags {
  readonly force: boolean;
  readonly output?: Output;
}

export function restoreCommand(): Command {
  return withDataOptions(new Command('restore'))
    .description('put a backup in the place of what a server has stored')
    .argument('<file>', 'what porthole backup wrote')
    .option(
      '--force',
      'put aside the store that is there, and keys that differ; take the backup of another cluster',
      false,
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Objects come back as they were; images and the contents of volumes are not in a backup. The store goes on 1,000,000,000 revisions later, so that watches and lists of before
are told that they are too old (410) and begin anew, instead of taking new writes for old ones.
Keys come back when they are missing; with --force also over others. What was there is put aside; of
stores that were put aside so, the last two stay.
The server of a cluster that porthole up made is stopped meanwhile, and started again; with --name its store is put aside
without --force. Another server must not run. A restore that is killed has done nothing, or is ended by the next start.

Examples:
  porthole restore --data-dir /var/lib/porthole-server monday.backup
  porthole restore --name test monday.backup`,
    )
    .action(async (file: string, flags: Flags, command: Command) => {
      const dataDir = dataDirOf(flags);
      const backup = readBackup(file);
      // Who names a cluster says which store is to go.
      const overStore = flags.force || command.getOptionValueSource('name') === 'cli';
      checkRestore(dataDir, backup, overStore);
      const restore = async () => restoreBackup(dataDir, backup, { overStore, overKeys: flags.force });
      const cluster = clusterOf(flags);
      const state = cluster && readClusterState(clusterPaths(cluster.home, cluster.name));
      if (state && !flags.force) refuseForeignBackup(backup, state);
      const restored = cluster
        ? await withServerStopped(
            { ...cluster, why: 'porthole restore', comesBack: () => true },
            progressOnStderr(),
            restore,
          )
        : await restore();
      const text = [
        `${dataDir}: ${restored.objects} objects of ${backup.createdAt}; keys: ${restored.pki}; it goes on at revision ${restored.revision}`,
        ...restored.aside.map((path) => `put aside: ${path}`),
        ...restored.removed.map((path) => `removed: ${path}, which was put aside before: the last two stay`),
        ...(cluster && restored.pki === 'restored'
          ? [
              `the keys are others now: porthole up --name ${cluster.name}, as it was made, gives nodes and you certificates of them`,
            ]
          : []),
      ];
      tell(flags.output, { dataDir, from: backup.revision, ...restored }, text.join('\n'));
    });
}
