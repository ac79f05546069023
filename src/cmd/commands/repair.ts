// porthole repair: says what is damaged in a store and, when told to, goes on with what can be read.
import { Command } from 'commander';
import { withServerStopped } from '../cluster/with-server-stopped.ts';
import { type Examination, repairStore } from '../compose/backups.ts';
import { clusterOf, type DataFlags, dataDirOf, withDataOptions } from '../data-options.ts';
import { type Output, outputOption, tell } from '../output-option.ts';
import { progressOnStderr } from '../progress.ts';

interface Flags extends DataFlags {
  readonly acceptLoss: boolean;
  readonly output?: Output;
}

export function repairCommand(): Command {
  return withDataOptions(new Command('repair'))
    .description('say what is damaged in the store of a server, and keep what can be read')
    .option('--accept-loss', 'go on without what is lost; the damaged store is put aside', false)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Without --accept-loss nothing is changed; the exit code is 1 when the store is damaged.
With it, what can be read becomes a new store, 1,000,000,000 revisions later, so that watches and lists of before are told
that they are too old (410). Objects whose last state is lost are named: they are older now, or gone.
A backup is better: porthole restore.
The server of a cluster that porthole up made is stopped meanwhile, and started again. Another server must not run.

Examples:
  porthole repair --name test                         the cluster "test" of this machine
  porthole repair --data-dir /var/lib/porthole-server
  porthole repair --data-dir /var/lib/porthole-server --accept-loss`,
    )
    .action(async (flags: Flags) => {
      const dataDir = dataDirOf(flags);
      const repair = async () => repairStore(dataDir, flags);
      const cluster = clusterOf(flags);
      const { accepted, ...examination } = cluster
        ? await withServerStopped(
            {
              ...cluster,
              why: 'porthole repair',
              comesBack: ({ damage, accepted }) => damage === undefined || accepted !== undefined,
            },
            progressOnStderr(),
            repair,
          )
        : await repair();
      const { output } = flags;
      if (examination.damage === undefined) {
        tell(output, { dataDir, damaged: false }, `${dataDir}: the store is whole`);
        return;
      }
      const said = sayDamage(dataDir, examination);
      if (accepted === undefined) {
        tell(output, said, textOf(said));
        process.exitCode = 1;
        return;
      }
      const { revision, aside } = accepted;
      const text = `${textOf(said)}\nit goes on at revision ${revision}; put aside: ${aside.join(', ')}`;
      tell(output, { ...said, revision, aside }, text);
    });
}

interface Said {
  readonly dataDir: string;
  readonly damaged: true;
  readonly damage: string;
  readonly readable: number;
  readonly older: readonly string[];
  readonly gone: readonly string[];
}

function sayDamage(dataDir: string, { damage, saved }: Examination): Said {
  const keys = (kept: boolean): string[] =>
    saved.harmed.filter((one) => (one.kept !== undefined) === kept).map(({ key }) => key);
  return {
    dataDir,
    damaged: true,
    damage: damage?.message ?? '',
    readable: saved.entries.length,
    older: keys(true),
    gone: keys(false),
  };
}

const textOf = ({ damage, readable, older, gone }: Said): string =>
  [
    damage,
    `${readable} objects can be read`,
    ...older.map((key) => `older than it was, or deleted since: ${key}`),
    ...gone.map((key) => `gone: ${key}`),
  ].join('\n');
