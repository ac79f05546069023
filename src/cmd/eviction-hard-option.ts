// The option --eviction-hard, checked where it is given: an agent that can't read its value would end again and again.
import { InvalidArgumentError, Option } from 'commander';
import { parseThresholds } from '../kubelet/eviction/thresholds.ts';

function checked(text: string): string {
  try {
    parseThresholds(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? `${error.message}.` : String(error));
  }
  return text;
}

/** `otherwise`: what holds without it, in words. */
export const evictionHardOption = (otherwise: string): Option =>
  new Option(
    '--eviction-hard <list>',
    `nodes evict pods below these: memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree (default: ${otherwise})`,
  ).argParser(checked);
