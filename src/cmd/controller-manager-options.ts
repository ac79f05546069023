// kube-controller-manager's flags that `porthole server` takes: which controllers run, how much each does at once, and who leads.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { usualTimes } from '../controller-runtime/leader-election/election.ts';
import { disabledControllers } from '../controllers/upstream-controllers.ts';
import { durationOption } from './duration-option.ts';
import { listed } from './list-option.ts';
import { whole } from './whole-option.ts';

export interface ControllerManagerFlags {
  readonly controllers: readonly string[];
  readonly leaderElect: 'true' | 'false';
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly nodeStartupGracePeriod?: number;
  readonly nodeCidrMaskSize: number;
  readonly nodeCidrMaskSizeIpv4: number;
  readonly nodeCidrMaskSizeIpv6: number;
  readonly terminatedPodGcThreshold: number;
}

interface Workers {
  readonly flag: string;
  readonly controller: string;
  readonly preset: number;
}

/** In upstream's sections: they are the names of the controllers. */
const workers: readonly Workers[] = [
  { controller: 'cronjob-controller', flag: 'concurrent-cron-job-syncs', preset: 5 },
  { controller: 'daemonset-controller', flag: 'concurrent-daemonset-syncs', preset: 2 },
  { controller: 'deployment-controller', flag: 'concurrent-deployment-syncs', preset: 5 },
  { controller: 'endpoints-controller', flag: 'concurrent-endpoint-syncs', preset: 5 },
  { controller: 'endpointslice-controller', flag: 'concurrent-service-endpoint-syncs', preset: 5 },
  {
    controller: 'endpointslice-mirroring-controller',
    flag: 'mirroring-concurrent-service-endpoint-syncs',
    preset: 5,
  },
  { controller: 'ephemeral-volume-controller', flag: 'concurrent-ephemeralvolume-syncs', preset: 5 },
  { controller: 'garbage-collector-controller', flag: 'concurrent-gc-syncs', preset: 20 },
  { controller: 'job-controller', flag: 'concurrent-job-syncs', preset: 5 },
  { controller: 'namespace-controller', flag: 'concurrent-namespace-syncs', preset: 10 },
  { controller: 'replicaset-controller', flag: 'concurrent-replicaset-syncs', preset: 5 },
  { controller: 'replicationcontroller-controller', flag: 'concurrent-rc-syncs', preset: 5 },
  { controller: 'resourceclaim-controller', flag: 'concurrent-resourceclaim-syncs', preset: 50 },
  { controller: 'resourcequota-controller', flag: 'concurrent-resource-quota-syncs', preset: 5 },
  {
    controller: 'serviceaccount-token-controller',
    flag: 'concurrent-serviceaccount-token-syncs',
    preset: 5,
  },
  { controller: 'statefulset-controller', flag: 'concurrent-statefulset-syncs', preset: 5 },
  { controller: 'ttl-after-finished-controller', flag: 'concurrent-ttl-after-finished-syncs', preset: 5 },
];

/** Upstream has no end; here each is a promise that waits. */
const mostAtOnce = 1_000;

function atOnce(text: string): number {
  const value = whole(text);
  if (value < 1 || value > mostAtOnce) throw new InvalidArgumentError(`not a number from 1 to ${mostAtOnce}`);
  return value;
}

const numberOption = (flag: string, about: string, preset: number, parse = whole): Option =>
  new Option(`--${flag} <n>`, about).argParser(parse).default(preset);

/** Slips are told before anything is opened. */
function controllersOf(text: string): string[] {
  const names = listed(text);
  try {
    disabledControllers(names);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
  return names;
}

export const withControllers = (command: Command): Command =>
  command.addOption(
    new Option('--controllers <names>', 'which controllers run: * are all, foo is one, -foo leaves one out')
      .argParser(controllersOf)
      .default(['*'], '*'),
  );

/** Beside what more a section has. */
export const workersOption = (controller: string): Option[] =>
  workers
    .filter((one) => one.controller === controller)
    .map(({ flag, preset }) => numberOption(flag, 'how many are looked at at once', preset, atOnce));

/** Controllers whose sections have no other flag. */
export const workerSections = (others: readonly string[]): string[] =>
  workers.map(({ controller }) => controller).filter((controller) => !others.includes(controller));

export const withElection = (command: Command): Command =>
  [
    new Option(
      '--leader-elect <bool>',
      'of all servers on one store, one runs the controllers, and one the scheduler',
    )
      .choices(['true', 'false'])
      .default('true'),
    durationOption(
      'leader-elect-lease-duration',
      'how long who leads is believed without being heard of',
      usualTimes.leaseDurationMs,
    ),
    durationOption(
      'leader-elect-renew-deadline',
      'how long it leads without having renewed',
      usualTimes.renewDeadlineMs,
    ),
    durationOption(
      'leader-elect-retry-period',
      'how often it renews, and others try',
      usualTimes.retryPeriodMs,
    ),
  ].reduce((all, option) => all.addOption(option), command);

/** Upstream's JitterFactor. */
const jitter = 1.2;

/** Throws Error where two could lead at once. */
export function electionTimesOf(flags: ControllerManagerFlags): typeof usualTimes {
  const times = {
    leaseDurationMs: flags.leaderElectLeaseDuration,
    renewDeadlineMs: flags.leaderElectRenewDeadline,
    retryPeriodMs: flags.leaderElectRetryPeriod,
  };
  if (times.leaseDurationMs <= times.renewDeadlineMs)
    throw new Error('--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline');
  if (times.renewDeadlineMs <= times.retryPeriodMs * jitter)
    throw new Error(
      '--leader-elect-renew-deadline must be greater than --leader-elect-retry-period times 1.2',
    );
  return times;
}

export const withNodeIpam = (command: Command): Command =>
  [
    numberOption('node-cidr-mask-size', 'of the block of pod addresses that a node gets; 0: by family', 0),
    numberOption('node-cidr-mask-size-ipv4', 'the same for IPv4; 0: 24', 0),
    numberOption('node-cidr-mask-size-ipv6', 'the same for IPv6; 0: 64', 0),
  ].reduce((all, option) => all.addOption(option), command);

export const withPodGc = (command: Command): Command =>
  command.addOption(
    numberOption('terminated-pod-gc-threshold', 'how many finished pods are kept; 0 or less: all', 12_500),
  );

const maskOf = (own: number, both: number, preset: number): number => own || both || preset;

/** What the flags say to the controllers. Throws Error with what is wrong. */
export function controllerSettingsOf(flags: ControllerManagerFlags): {
  readonly disabled: readonly string[];
  readonly concurrency: Readonly<Record<string, number>>;
  readonly nodeCIDRMaskSizeIPv4: number;
  readonly nodeCIDRMaskSizeIPv6: number;
  readonly terminatedPodThreshold: number;
} {
  const values = flags as unknown as Readonly<Record<string, number>>;
  const nameOf = (flag: string): string =>
    flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return {
    disabled: disabledControllers(flags.controllers),
    concurrency: Object.fromEntries(
      workers.map(({ controller, flag, preset }) => [controller, values[nameOf(flag)] ?? preset]),
    ),
    nodeCIDRMaskSizeIPv4: maskOf(flags.nodeCidrMaskSizeIpv4, flags.nodeCidrMaskSize, 24),
    nodeCIDRMaskSizeIPv6: maskOf(flags.nodeCidrMaskSizeIpv6, flags.nodeCidrMaskSize, 64),
    terminatedPodThreshold: flags.terminatedPodGcThreshold,
  };
}
