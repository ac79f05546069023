// The command line around its commands.
import { Command } from 'commander';
import { version } from '../component-base/version.ts';

export function programOf(commands: readonly Command[]): Command {
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
  for (const command of commands) program.addCommand(command);
  return program;
}
