// The command line's table of commands.
import { Command } from 'commander';
import { version } from '../component-base/version.ts';
import { commands } from './command-registry.ts';

/** `named`: the first word. Only that command is read when it is one; else all are, to show which there are. */
export async function createProgram(named: string | undefined): Promise<Command> {
  const program = new Command('porthole')
    .description(
      'Kubernetes for clusters of Linux and Windows nodes; Windows nodes even where there is no Windows.',
    )
    .version(version.gitVersion, '-V, --version')
    .showHelpAfterError('(--help shows what there is)')
    .addHelpText(
      'after',
      `
Examples:
  porthole up                            one Linux and one emulated Windows node on this machine
  porthole up --windows 2 --windows-build 26100
  kubectl get nodes -o wide
  porthole down`,
    );
  const read = named === undefined ? undefined : commands.get(named);
  for (const command of await Promise.all(read ? [read()] : [...commands.values()].map((one) => one())))
    program.addCommand(command);
  return program;
}
