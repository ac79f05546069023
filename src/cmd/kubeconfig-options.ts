// Which kubeconfig a cluster's context is merged into: the flags of `up` and `start`.
import { join, resolve, sep } from 'node:path';
import { type Command, Option } from 'commander';
import { fileToMerge, kubeconfigFiles } from './cluster/user-kubeconfig.ts';
import type { Progress } from './progress.ts';
import { portholeHome } from './setup/locations.ts';

export interface MergeFlags {
  readonly merge?: boolean;
  readonly kubeconfig?: string;
}

export const kubeconfigOption = (): Option =>
  new Option(
    '--kubeconfig <file>',
    "instead of $KUBECONFIG's first file that is there, or ~/.kube/config",
  ).argParser((file) => resolve(file));

export const withMergeOptions = (command: Command): Command =>
  command
    .option(
      '--no-merge',
      "leave your kubeconfig alone; the cluster has one of its own, which 'kubeconfig' prints",
    )
    .addOption(kubeconfigOption().conflicts('merge'));

/** Undefined: none, as asked for, or because there is no place for one. */
export function mergeFileOf({ merge, kubeconfig }: MergeFlags): string | undefined {
  if (merge === false) return undefined;
  const file = kubeconfig ?? fileToMerge(kubeconfigFiles(process.env));
  if (file === undefined) return undefined;
  // Who reads a cluster's own file has its context already, and its server writes it, too.
  return file.startsWith(join(portholeHome(), 'clusters') + sep) ? undefined : file;
}

export function sayContext(progress: Progress, context: string | undefined, file: string | undefined): void {
  if (context !== undefined) progress.say(`kubectl's context is ${context} now, in ${file}`);
}
