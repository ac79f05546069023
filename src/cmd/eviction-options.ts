// How fast pods are evicted from nodes that are not ready: kube-controller-manager's options.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { defaultEvictionRates } from './compose/server-components.ts';
import { durationOption } from './duration-option.ts';

export interface EvictionFlags {
  readonly nodeMonitorPeriod: number;
  readonly nodeEvictionRate: number;
  readonly secondaryNodeEvictionRate: number;
  readonly unhealthyZoneThreshold: number;
  readonly largeClusterSizeThreshold: number;
}

const amount =
  (most: number) =>
  (text: string): number => {
    const value = text === '' ? Number.NaN : Number(text);
    if (!(value >= 0 && value <= most))
      throw new InvalidArgumentError(most === 1 ? 'not a number from 0 to 1' : 'not a number of 0 or more');
    return value;
  };
const any = Number.MAX_SAFE_INTEGER;

const numberOption = (flag: string, description: string, most: number, preset: number): Option =>
  new Option(`--${flag} <n>`, description).argParser(amount(most)).default(preset);

export const withEvictions = (command: Command): Command => {
  const rates = defaultEvictionRates;
  const options = [
    durationOption(
      'node-monitor-period',
      'how long a node that is not ready is watched before its pods are evicted in turn',
      rates.monitorPeriodMs,
    ),
    numberOption(
      'node-eviction-rate',
      'nodes a second in each zone that pods are evicted from; 0: none',
      any,
      rates.perSecond,
    ),
    numberOption(
      'secondary-node-eviction-rate',
      'the same where too much of a large zone is not ready',
      any,
      rates.secondaryPerSecond,
    ),
    numberOption(
      'unhealthy-zone-threshold',
      'what part of a zone is too much, of three nodes and more',
      1,
      rates.unhealthyZoneThreshold,
    ),
    numberOption(
      'large-cluster-size-threshold',
      'nodes of a zone that is still small: where too much of it is not ready, nobody is evicted',
      any,
      rates.largeClusterSizeThreshold,
    ),
  ];
  return options.reduce((all, option) => all.addOption(option), command);
};

export const evictionRatesOf = (flags: EvictionFlags): typeof defaultEvictionRates => ({
  monitorPeriodMs: flags.nodeMonitorPeriod,
  perSecond: flags.nodeEvictionRate,
  secondaryPerSecond: flags.secondaryNodeEvictionRate,
  unhealthyZoneThreshold: flags.unhealthyZoneThreshold,
  largeClusterSizeThreshold: flags.largeClusterSizeThreshold,
});
