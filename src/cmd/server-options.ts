// The flags of `porthole server`, in the sections and the order in which kube-apiserver and kube-controller-manager show theirs.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseCidr } from '../base/ip.ts';
import { type PortRange, parsePortRange, usualNodePorts } from '../base/port-range.ts';
import type { LogLevel } from '../component-base/logger.ts';
import { defaultEventTtlMs } from '../controlplane/object-lifetimes.ts';
import { withAdmission, withTolerationSeconds } from './admission-options.ts';
import { type ApiEnablementFlags, withFeatureGates, withRuntimeConfig } from './api-enablement-options.ts';
import { withAudit } from './audit-options.ts';
import {
  type CredentialFlags,
  withAuthentication,
  withAuthorization,
  withProof,
} from './authentication-options.ts';
import { type AutoscalerFlags, withAutoscalers } from './autoscaler-options.ts';
import { clusterCidr, clusterDnsAddress, clusterDomain, serviceCidr } from './compose/cluster-addresses.ts';
import type { AdmissionFlags } from './compose/configured-admission.ts';
import { defaultNodeMonitorGraceMs, defaultNodeStartupGraceMs } from './compose/server-components.ts';
import { defaultQuotaBytes } from './compose/store-quota.ts';
import {
  type ControllerManagerFlags,
  withControllers,
  withElection,
  withNodeIpam,
  withPodGc,
  workerSections,
  workersOption,
} from './controller-manager-options.ts';
import { durationOption } from './duration-option.ts';
import { type EvictionFlags, withEvictions } from './eviction-options.ts';
import { listed } from './list-option.ts';
import { port } from './port-option.ts';
import { type SchedulerFlags, withScheduler } from './scheduler-options.ts';
import { withRootCa, withServingFiles } from './serving-options.ts';
import { switchOption } from './switch-option.ts';
import { withAbsent, withAbsentOfControllers } from './upstream-flags.ts';

/** As commander reads them. */
export interface ServerFlags
  extends EvictionFlags,
    AutoscalerFlags,
    CredentialFlags,
    AdmissionFlags,
    ApiEnablementFlags,
    SchedulerFlags,
    ControllerManagerFlags {
  readonly dataDir: string;
  readonly securePort: number;
  readonly bindAddress?: string;
  readonly dnsPort?: number;
  readonly advertiseAddress?: string;
  readonly extraSan: readonly string[];
  readonly serviceClusterIpRange: string;
  readonly serviceNodePortRange?: PortRange;
  readonly clusterCidr: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly clusterName: string;
  readonly podRoutes?: string;
  readonly fabric?: string;
  readonly loadBalancerCidr?: string;
  readonly disable: readonly string[];
  readonly etcdServers?: string;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly maxRequestsPerUser: number;
  readonly maxWatchesPerUser: number;
  readonly maxStreamsPerUser: number;
  readonly quotaBackendBytes: number;
  readonly eventTtl: number;
  readonly nodeMonitorGracePeriod: number;
  readonly clusterSigningDuration: number;
  readonly legacyServiceAccountTokenCleanUpPeriod: number;
  readonly certificateValidityPeriod: number;
  readonly approveKubeletServing: boolean;
  readonly keepCredentials?: string;
  readonly encryptionProviderConfig?: string;
  readonly encryptionProviderConfigAutomaticReload: boolean;
  readonly serviceAccountExtendTokenExpiration: 'true' | 'false';
  readonly logLevel: LogLevel;
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('not a number above 0');
  return value;
}

/** No text says what its absence says, as upstream. */
function nodePorts(text: string): PortRange {
  if (text.trim() === '') return usualNodePorts;
  const range = parsePortRange(text);
  if (typeof range === 'string') throw new InvalidArgumentError(range);
  if (range.first === 0) throw new InvalidArgumentError('no node can have port 0');
  return range;
}

const yearMs = 365 * 24 * 3_600_000;

/** What can be disabled, because it can run elsewhere. */
const parts: readonly string[] = ['dns', 'scheduler', 'controllers'];

/** Another name is a slip, and what it was meant for would go on. */
function partsOf(text: string): string[] {
  const unknown = listed(text).filter((name) => !parts.includes(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(
      `${unknown.map((name) => JSON.stringify(name)).join(', ')}: there are ${parts.join(', ')}.`,
    );
  return listed(text);
}

function ipv4Range(text: string): string {
  if (parseCidr(text)?.family !== 4) throw new InvalidArgumentError('no range of IPv4 addresses.');
  return text;
}

/** What only a control plane in one process has. */
const withOwn = (command: Command): Command =>
  command
    .requiredOption('--data-dir <folder>', 'where keys and objects are kept')
    .option(
      '--dns-port <port>',
      'port of the cluster DNS; default: the one of the time before, or a free one',
      port,
    )
    .option('--cluster-dns <address>', 'address of the cluster DNS Service', clusterDnsAddress)
    .option('--cluster-domain <domain>', 'domain of the cluster', clusterDomain)
    .option(
      '--pod-routes <topology>',
      'keep routes to pods on this machine, which is connected to all nodes (needs root)',
    )
    .option('--fabric <id>', 'the network of this machine that leads to the nodes, with --pod-routes')
    .option(
      '--load-balancer-cidr <range>',
      'addresses that Services of type LoadBalancer are given, of the network of --fabric (default: they get none here)',
      ipv4Range,
    )
    .addOption(
      new Option('--disable <parts>', `parts that run elsewhere: ${parts.join(', ')}`)
        .argParser(partsOf)
        .default([], 'none'),
    )
    .option('--max-requests-per-user <n>', 'requests of one user that run or wait', count, 500)
    .option('--max-watches-per-user <n>', 'watches of one user', count, 2_000)
    .option('--max-streams-per-user <n>', 'exec, port-forward, log and proxy streams of one user', count, 500)
    .addOption(
      switchOption(
        'approve-kubelet-serving',
        "approve kubelets' serving certificates for their Node's name and the addresses that only it has",
        false,
      ),
    )
    .option(
      '--keep-credentials <file>',
      'a list, as porthole up writes it, of kubeconfigs whose certificates are renewed while the server runs',
    );

const withGeneric = (command: Command): Command =>
  withTolerationSeconds(withAbsent(withFeatureGates(command)))
    .option('--advertise-address <address>', 'address at which nodes and pods reach this server')
    .option(
      '--max-requests-inflight <n>',
      'with --max-mutating-requests-inflight: seats that the priority levels share',
      count,
      80,
    )
    .option('--max-mutating-requests-inflight <n>', 'see --max-requests-inflight', count, 40)
    .option('--cluster-cidr <cidr>', 'addresses of pods', clusterCidr)
    .option('--cluster-name <name>', 'name in the kubeconfig', 'porthole');

const withStore = (command: Command): Command =>
  command
    .addOption(new Option('--etcd-servers <urls>', 'refused: there is no etcd').hideHelp())
    .option(
      '--quota-backend-bytes <n>',
      'what all objects together may take; beyond it only deleting and shrinking is left',
      count,
      defaultQuotaBytes,
    )
    .option(
      '--encryption-provider-config <file>',
      'an EncryptionConfiguration: which resources lie sealed in the store, with which keys',
    )
    .addOption(
      switchOption(
        'encryption-provider-config-automatic-reload',
        'read that file again when its content changes; KMS plugins then have one check of health together',
        false,
      ),
    );

const withServing = (command: Command): Command =>
  withServingFiles(command)
    .option(
      '--bind-address <address>',
      'one more address to listen on, besides loopback and the advertised one; 0.0.0.0: on all',
    )
    .option('--secure-port <port>', 'TLS port; 0 takes any that is free', port, 6443)
    .addOption(
      new Option('--extra-san <names>', 'more names and addresses of the serving certificate')
        .argParser(listed)
        .default([], 'none'),
    )
    .addOption(
      durationOption(
        'certificate-validity-period',
        "how long the server's own certificates are good; they are renewed while it runs",
        yearMs,
      ),
    );

const withMisc = (command: Command): Command =>
  withProof(command)
    .addOption(durationOption('event-ttl', 'how long Events are kept', defaultEventTtlMs))
    .option('--service-cluster-ip-range <cidr>', 'addresses of Services', serviceCidr)
    .option(
      '--service-node-port-range <range>',
      'ports of the nodes for Services that ask for one; default: 30000-32767',
      nodePorts,
    );

const withLogs = (command: Command): Command =>
  command.addOption(
    new Option('--log-level <level>', 'how much is logged')
      .choices(['debug', 'info', 'warn', 'error', 'silent'])
      .default('info'),
  );

const withSigning = (command: Command): Command =>
  command.addOption(
    durationOption(
      'cluster-signing-duration',
      'how long certificates are good that requests (CSRs) get',
      yearMs,
    ),
  );

const withTokenCleaner = (command: Command): Command =>
  command.addOption(
    durationOption(
      'legacy-service-account-token-clean-up-period',
      'how long a token in a Secret that its account lists may be of no use',
      yearMs,
    ),
  );

const withNodeLifecycle = (command: Command): Command =>
  withEvictions(
    command
      .addOption(
        durationOption(
          'node-monitor-grace-period',
          'how long a node may be silent before it is marked unhealthy',
          defaultNodeMonitorGraceMs,
        ),
      )
      .addOption(
        durationOption(
          'node-startup-grace-period',
          'the same for a node that never spoke',
          defaultNodeStartupGraceMs,
        ),
      ),
  );

type Section = readonly [heading: string, add: (command: Command) => Command];

const apiserver: readonly Section[] = [
  ['Generic', withGeneric],
  ['Etcd', withStore],
  ['Secure serving', withServing],
  ['Auditing', withAudit],
  ['Authentication', withAuthentication],
  ['Authorization', withAuthorization],
  ['API enablement', withRuntimeConfig],
  ['Admission', withAdmission],
  ['Logs', withLogs],
  ['Misc', withMisc],
];

/** Each controller's in a section of its name, as upstream. */
const ofControllers: Readonly<Record<string, (command: Command) => Command>> = {
  'certificatesigningrequest-signing-controller': withSigning,
  'horizontal-pod-autoscaler-controller': withAutoscalers,
  'legacy-serviceaccount-token-cleaner-controller': withTokenCleaner,
  'node-ipam-controller': withNodeIpam,
  'node-lifecycle-controller': withNodeLifecycle,
  'pod-garbage-collector-controller': withPodGc,
  'serviceaccount-token-controller': withRootCa,
};

const capital = (name: string): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;

const controllerManager: readonly Section[] = [
  ['Controllers', (command) => withAbsentOfControllers(withControllers(command))],
  ['Leader election', withElection],
  ...[...Object.keys(ofControllers), ...workerSections(Object.keys(ofControllers))]
    .sort()
    .map(
      (name): Section => [
        capital(name),
        (command) =>
          workersOption(name).reduce(
            (all, option) => all.addOption(option),
            ofControllers[name]?.(command) ?? command,
          ),
      ],
    ),
];

const scheduler: readonly Section[] = [['Scheduler', withScheduler]];

const title = ([heading]: Section): string => `${heading} flags:`;

export const isOfScheduler = ({ helpGroupHeading }: Option): boolean =>
  scheduler.some((section) => title(section) === helpGroupHeading);

/** Of whom upstream's a flag is, by the section that it stands in. */
export const isOfControllerManager = ({ helpGroupHeading }: Option): boolean =>
  controllerManager.some((section) => title(section) === helpGroupHeading);

export function withServerOptions(command: Command): Command {
  for (const section of [['Porthole', withOwn] as const, ...apiserver, ...controllerManager, ...scheduler])
    section[1](command.optionsGroup(title(section)));
  return command.optionsGroup('Global flags:').helpOption('-h, --help', 'display help for command');
}
