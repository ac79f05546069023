// Upstream's flags about what is on and what is served, by their names.
import type { Command } from 'commander';
import { type ApiEnablement, readApiEnablement } from '../api/api-enablement.ts';
import { gathered } from './list-option.ts';

export interface ApiEnablementFlags {
  readonly featureGates: readonly string[];
  readonly runtimeConfig: readonly string[];
}

export const withFeatureGates = (command: Command): Command =>
  command.option(
    '--feature-gates <gates>',
    'name=true or false: StorageVersionMigrator, AllAlpha, AllBeta',
    gathered,
    [],
  );

export const withRuntimeConfig = (command: Command): Command =>
  command.option(
    '--runtime-config <apis>',
    'group/version[/resource]=true, api/all=true, api/beta=true: what is served besides what is on by itself',
    gathered,
    [],
  );

export const apiEnablementOf = (flags: ApiEnablementFlags): ApiEnablement =>
  readApiEnablement(flags.featureGates, flags.runtimeConfig);
