// kube-apiserver's flags about admission plugins, by their names.
import type { Command } from 'commander';

const listed = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(',').filter((part) => part !== ''),
];

export const withAdmission = (command: Command): Command =>
  command
    .option(
      '--enable-admission-plugins <names>',
      'admission plugins besides those that are on by themselves',
      listed,
    )
    .option('--disable-admission-plugins <names>', 'admission plugins to leave out', listed)
    .option(
      '--admission-control-config-file <file>',
      'an AdmissionConfiguration: what admission plugins are told',
    );
