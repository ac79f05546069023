// porthole version: ours, and that of the API we serve.
import { Command } from 'commander';
import { version } from '../../component-base/version.ts';

export function versionCommand(): Command {
  return new Command('version')
    .description('print versions')
    .option('-o, --output <form>', 'json')
    .action((flags: { output?: string }) => {
      const all = { ...version, platform: `${process.platform}/${process.arch}`, node: process.version };
      console.log(
        flags.output === 'json'
          ? JSON.stringify(all, null, 2)
          : `porthole ${all.gitVersion} (Node ${all.node}, ${all.platform})`,
      );
    });
}
