// kube-apiserver's flags about admission plugins, by their names.
import type { Command } from 'commander';
import { defaultTolerationSeconds } from '../plugins/admission/default-toleration-seconds.ts';
import { gathered } from './list-option.ts';
import { whole } from './whole-option.ts';

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

/** What DefaultTolerationSeconds adds; upstream shows them among the generic flags. */
export const withTolerationSeconds = (command: Command): Command =>
  [
    ['not-ready', 'not ready'],
    ['unreachable', 'not reachable'],
  ].reduce(
    (all, [flag, state]) =>
      all.option(
        `--default-${flag}-toleration-seconds <n>`,
        `how long pods that do not say it stay on a node that is ${state}`,
        whole,
        defaultTolerationSeconds,
      ),
    command,
  );
