// porthole restore: a backup becomes the store of a server that is not running.
import { Command } from 'commander';
import { readBackup, restoreBackup } from '../compose/backups.ts';
import { type DataFlags, dataDirOf, outputOption, withDataOptions } from '../data-options.ts';

interface Flags extends DataFlags {
  readonly force: boolean;
  readonly output?: 'json';
}

export function restoreCommand(): Command {
  return withDataOptions(new Command('restore'))
    .description('put a backup into the data directory of a server that is not running')
    .argument('<file>', 'what porthole backup wrote')
    .option('--force', 'put aside the store that is there, and keys that differ', false)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Objects come back as they were; images and the contents of volumes are not in a backup. The store goes on 1,000,000,000 revisions later, so that watches and lists of before
are told that they are too old (410) and begin anew, instead of taking new writes for old ones.
Keys come back when they are missing; with --force also over others. Nothing is deleted: what was there is put aside.

Examples:
  porthole restore --data-dir /var/lib/porthole-server monday.backup
  porthole restore --name test --force monday.backup`,
    )
    .action((file: string, flags: Flags) => {
      const dataDir = dataDirOf(flags);
      const backup = readBackup(file);
      const restored = restoreBackup(dataDir, backup, flags.force);
      if (flags.output === 'json') {
        console.log(JSON.stringify({ dataDir, from: backup.revision, ...restored }));
        return;
      }
      console.log(
        `${dataDir}: ${restored.objects} objects of ${backup.createdAt}; keys: ${restored.pki}; it goes on at revision ${restored.revision}`,
      );
      for (const path of restored.aside) console.log(`put aside: ${path}`);
    });
}
