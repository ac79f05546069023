// porthole completion: a script that makes TAB know commands, flags, clusters and nodes.
import { Argument, Command } from 'commander';
import { completionScripts } from '../completion/shell-scripts.ts';
import { packageRoot } from '../setup/package-root.ts';

export function completionCommand(): Command {
  return new Command('completion')
    .description(
      'print a script for your shell that completes commands, flags, and names of clusters and nodes',
    )
    .addArgument(new Argument('<shell>', 'yours').choices(Object.keys(completionScripts)))
    .addHelpText(
      'after',
      `
Examples:
  source <(porthole completion bash)                       in ~/.bashrc
  source <(porthole completion zsh)                        in ~/.zshrc, after compinit
  porthole completion fish > ~/.config/fish/completions/porthole.fish`,
    )
    .action((shell: string) => {
      process.stdout.write(completionScripts[shell]!(`${packageRoot()}bin/porthole`));
    });
}
