// porthole backup: all objects and keys of a server in one file, while it runs or not.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Command } from 'commander';
import { takeBackup, writeBackup } from '../compose/backups.ts';
import { type DataFlags, dataDirOf, withDataOptions } from '../data-options.ts';
import { type Output, outputOption, tell } from '../output-option.ts';
import { progressOnStderr } from '../progress.ts';

interface Flags extends DataFlags {
  readonly pki: boolean;
  readonly output?: Output;
}

export function backupCommand(): Command {
  return withDataOptions(new Command('backup'))
    .description('write all objects of a cluster, and its keys, to a file')
    .argument('<file>', 'where to; readable by you only')
    .option('--no-pki', 'leave out the keys and certificates')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A running server goes on meanwhile: the file shows one revision of it. It is read back before it counts.
A file of that name is replaced, as etcdctl snapshot save does it; its folder must be there.
The file holds every Secret and, without --no-pki, the keys that make anyone an administrator: keep it as you keep those.

Examples:
  porthole backup monday.backup                       the cluster "default" of this machine
  porthole backup --name test monday.backup
  porthole backup --data-dir /var/lib/porthole-server monday.backup
  porthole restore --name test monday.backup          puts it back`,
    )
    .action(async (file: string, flags: Flags) => {
      const dataDir = dataDirOf(flags);
      const folder = dirname(resolve(file));
      if (!existsSync(folder)) throw new Error(`there is no folder ${folder} to write the backup to`);
      const progress = progressOnStderr();
      const { backup, running } = await progress.step(`reading ${dataDir}`, () =>
        takeBackup(dataDir, { pki: flags.pki }),
      );
      const { bytes } = await progress.step(`writing and checking ${file}`, async () =>
        writeBackup(file, backup),
      );
      const { revision, entries, files } = backup;
      const told = { file, revision, objects: entries.length, keys: files.length, bytes, running };
      const text = `${file}: ${told.objects} objects at revision ${revision}, ${told.keys} files of keys, ${bytes} bytes`;
      tell(flags.output, told, text);
    });
}
