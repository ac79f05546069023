// Flags that say which Windows a node is.
import { InvalidArgumentError, Option } from 'commander';
import { windowsVersions } from '../component-helpers/windows-image-match.ts';

/** By its number, or as Microsoft tags its images. */
function build(text: string): number {
  const found = windowsVersions.find((one) => String(one.build) === text || one.imageTag === text);
  if (found !== undefined) return found.build;
  const known = windowsVersions.map((one) => `${one.build} (${one.imageTag})`).join(', ');
  throw new InvalidArgumentError(`known are ${known}.`);
}

export const windowsBuildOption = (flags: string, description: string): Option =>
  new Option(`${flags} <build>`, description)
    .choices(windowsVersions.flatMap((one) => [String(one.build), one.imageTag]))
    .argParser(build)
    .default(20348);
