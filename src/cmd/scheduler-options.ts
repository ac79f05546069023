// kube-scheduler's options of the server: one file says all that can be said of profiles, plugins and extenders.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { parseYaml } from '../base/yaml.ts';
import {
  readSchedulerConfiguration,
  type SchedulerConfiguration,
} from '../scheduler/config/scheduler-configuration.ts';
import { ofFlag } from './compose/of-flag.ts';

export interface SchedulerFlags {
  readonly schedulerConfig?: string;
}

export const withScheduler = (command: Command): Command =>
  command.option(
    '--scheduler-config <file>',
    'a KubeSchedulerConfiguration: profiles, their plugins and arguments, extenders (kube-scheduler --config)',
  );

/** Throws what is wrong with the file. */
export const schedulerConfigurationOf = ({
  schedulerConfig: file,
}: SchedulerFlags): SchedulerConfiguration | undefined =>
  file === undefined
    ? undefined
    : ofFlag('scheduler-config', file, () =>
        readSchedulerConfiguration(parseYaml(readFileSync(file, 'utf8'))),
      );
