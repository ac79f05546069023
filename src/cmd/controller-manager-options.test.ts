// What kube-controller-manager's flags make of the controllers, and which times of an election are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import {
  type ControllerManagerFlags,
  controllerSettingsOf,
  electionTimesOf,
  withControllers,
  withElection,
  withNodeIpam,
  withPodGc,
  workerSections,
  workersOption,
} from './controller-manager-options.ts';

const read = (...args: string[]): ControllerManagerFlags => {
  const command = withPodGc(withNodeIpam(withElection(withControllers(new Command()))));
  for (const name of workerSections([])) for (const option of workersOption(name)) command.addOption(option);
  return command.exitOverride().parse(args, { from: 'user' }).opts<ControllerManagerFlags>();
};

test('flags of upstream say which controllers run, how much each does at once, and how much is kept', () => {
  const usual = controllerSettingsOf(read());
  assert.deepEqual([usual.disabled, usual.terminatedPodThreshold], [[], 12_500]);
  assert.deepEqual([usual.nodeCIDRMaskSizeIPv4, usual.nodeCIDRMaskSizeIPv6], [24, 64]);
  assert.equal(usual.concurrency['namespace-controller'], 10);
  const asked = controllerSettingsOf(
    read(
      '--controllers=*,-job',
      '--concurrent-rc-syncs=7',
      '--node-cidr-mask-size=26',
      '--terminated-pod-gc-threshold=0',
    ),
  );
  assert.deepEqual([asked.disabled, asked.terminatedPodThreshold], [['job-controller'], 0]);
  assert.equal(asked.concurrency['replicationcontroller-controller'], 7);
  assert.deepEqual([asked.nodeCIDRMaskSizeIPv4, asked.nodeCIDRMaskSizeIPv6], [26, 26]);
});

test('times by which two could lead at once are refused', () => {
  assert.equal(electionTimesOf(read()).leaseDurationMs, 15_000);
  assert.throws(() => electionTimesOf(read('--leader-elect-renew-deadline=15s')), {
    message: '--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline',
  });
  assert.throws(() => electionTimesOf(read('--leader-elect-retry-period=9s')), {
    message: '--leader-elect-renew-deadline must be greater than --leader-elect-retry-period times 1.2',
  });
});
