// The flags of `porthole agent` that are kube-proxy's own, each checked where it is given.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { duration } from './duration-option.ts';

/** Each look reads all tables. */
const leastMs = 1_000;

function period(text: string): number {
  const ms = duration(text);
  if (ms < leastMs) throw new InvalidArgumentError('at least 1s.');
  return ms;
}

export const withKubeProxy = (command: Command): Command =>
  command.addOption(
    new Option(
      '--nftables-sync-period <duration>',
      'between two looks at whether somebody took rules of the packet filter, or routes',
    )
      .argParser(period)
      .default(30_000, '30s'),
  );
