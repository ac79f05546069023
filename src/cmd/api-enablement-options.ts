// Upstream's flags about what is on and what is served, by their names.
import { type Command, Option } from 'commander';
import { type ApiEnablement, readApiEnablement } from '../api/api-enablement.ts';
import { gathered } from './list-option.ts';

export interface ApiEnablementFlags {
  readonly featureGates: readonly string[];
  readonly runtimeConfig: readonly string[];
}

export const withFeatureGates = (command: Command): Command =>
  command.addOption(
    new Option('--feature-gates <gates>', 'name=true or false: StorageVersionMigrator, AllAlpha, AllBeta')
      .argParser(gathered)
      .default([], 'none'),
  );

export const withRuntimeConfig = (command: Command): Command =>
  command.addOption(
    new Option(
      '--runtime-config <apis>',
      'what is served besides what is on by itself: group/version=true, api/beta=true, api/all=true',
    )
      .argParser(gathered)
      .default([], 'none'),
  );

export const apiEnablementOf = (flags: ApiEnablementFlags): ApiEnablement =>
  readApiEnablement(flags.featureGates, flags.runtimeConfig);
