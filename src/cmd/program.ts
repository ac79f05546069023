// The command line's table of commands.
import { Command } from 'commander';
import { version } from '../component-base/version.ts';
import { commands } from './command-registry.ts';

export function createProgram(): Command {
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
  export KUBECONFIG=$(porthole kubeconfig --path)
  kubectl get nodes -o wide
  porthole down`,
    );
  for (const create of commands) program.addCommand(create());
  return program;
}
