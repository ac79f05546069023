// porthole version: ours, and that of the API we serve.
import { Command } from 'commander';
import { version } from '../../component-base/version.ts';
import { type Output, outputOption, tell } from '../output-option.ts';

export function versionCommand(): Command {
  return new Command('version')
    .description('print versions')
    .addOption(outputOption())
    .action(({ output }: { output?: Output }) => {
      const all = { ...version, node: process.version };
      tell(output, all, `porthole ${all.gitVersion} (Node ${all.node}, ${all.platform})`);
    });
}
