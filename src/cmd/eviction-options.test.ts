// Options of evictions, as they are given and refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { type EvictionFlags, evictionRatesOf, withEvictions } from './eviction-options.ts';

const parse = (...words: string[]): ReturnType<typeof evictionRatesOf> => {
  const command = withEvictions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  return evictionRatesOf(command.parse(words, { from: 'user' }).opts<EvictionFlags>());
};

test("evictions go as fast as upstream's, or as kube-controller-manager's options say", () => {
  assert.deepEqual(parse(), {
    monitorPeriodMs: 5000,
    perSecond: 0.1,
    secondaryPerSecond: 0.01,
    unhealthyZoneThreshold: 0.55,
    largeClusterSizeThreshold: 50,
  });
  assert.deepEqual(
    parse(
      ...[
        '--node-monitor-period',
        '2s',
        '--node-eviction-rate',
        '0',
        '--secondary-node-eviction-rate',
        '0.5',
      ],
      ...['--unhealthy-zone-threshold', '1', '--large-cluster-size-threshold', '7'],
    ),
    {
      monitorPeriodMs: 2000,
      perSecond: 0,
      secondaryPerSecond: 0.5,
      unhealthyZoneThreshold: 1,
      largeClusterSizeThreshold: 7,
    },
  );
  assert.throws(() => parse('--node-eviction-rate', '-1'), { message: /not a number of 0 or more/ });
  assert.throws(() => parse('--unhealthy-zone-threshold', '1.1'), { message: /not a number from 0 to 1/ });
});
