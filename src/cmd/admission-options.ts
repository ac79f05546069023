// kube-apiserver's flags about admission plugins, by their names.
import type { Command } from 'commander';
import { gathered } from './list-option.ts';

export const withAdmission = (command: Command): Command =>
  command
    .option(
      '--enable-admission-plugins <names>',
      'admission plugins besides those that are on by themselves',
      gathered,
    )
    .option('--disable-admission-plugins <names>', 'admission plugins to leave out', gathered)
    .option(
      '--admission-control-config-file <file>',
      'an AdmissionConfiguration: what admission plugins are told',
    );
