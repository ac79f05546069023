// A flag that is on or off: `--flag`, `--flag=true` and `--flag=false`, as Go's flags.
import { InvalidArgumentError, Option } from 'commander';

function yesOrNo(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('true or false');
  return text === 'true';
}

export const switchOption = (flag: string, about: string, preset: boolean): Option =>
  new Option(`--${flag} [bool]`, about).preset('true').argParser(yesOrNo).default(preset);
