// porthole server: a control plane alone, in the foreground.
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createLogger, type LogLevel } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { defaultEventTtlMs } from '../../controlplane/object-lifetimes.ts';
import { withAdmission } from '../admission-options.ts';
import { auditFlagsOf, withAudit } from '../audit-options.ts';
import {
  broughtOf,
  type CredentialFlags,
  withAuthentication,
  withAuthorization,
} from '../authentication-options.ts';
import { clusterCidr, clusterDnsAddress, clusterDomain, serviceCidr } from '../compose/cluster-addresses.ts';
import { type ServerComponent, startServer } from '../compose/compose-server.ts';
import type { AdmissionFlags } from '../compose/configured-admission.ts';
import { withRecovery } from '../compose/data-directory.ts';
import { elected } from '../compose/elected.ts';
import {
  checkAdvertiseAddress,
  checkBindAddress,
  everyMachineAddress,
  listenAddresses,
} from '../compose/listen-addresses.ts';
import { podRouterComponent } from '../compose/pod-router-component.ts';
import {
  controllersComponent,
  defaultNodeMonitorGraceMs,
  dnsComponent,
  schedulerComponent,
} from '../compose/server-components.ts';
import { defaultQuotaBytes } from '../compose/store-quota.ts';
import { durationOption } from '../duration-option.ts';
import { type EvictionFlags, evictionRatesOf, withEvictions } from '../eviction-options.ts';
import { goOnAfterErrors } from '../go-on-after-errors.ts';
import { listed } from '../list-option.ts';
import { measureProcess } from '../measure-process.ts';
import { port } from '../port-option.ts';
import { settleEngine } from '../settle-engine.ts';
import { serverWorkers } from '../setup/package-root.ts';
import { lookAfterSupervisor } from '../supervisor/look-after-supervisor.ts';

interface Flags extends EvictionFlags, CredentialFlags, AdmissionFlags {
  readonly dataDir: string;
  readonly securePort: number;
  readonly bindAddress?: string;
  readonly dnsPort?: number;
  readonly advertiseAddress?: string;
  readonly extraSan: readonly string[];
  readonly serviceClusterIpRange: string;
  readonly clusterCidr: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly clusterName: string;
  readonly podRoutes?: string;
  readonly fabric?: string;
  readonly disable: readonly string[];
  readonly leaderElect: 'true' | 'false';
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

/** Where it keeps things, and where it is reached. */
const withPlace = (command: Command): Command =>
  command
    .requiredOption('--data-dir <folder>', 'where keys and objects are kept')
    .option('--secure-port <port>', 'TLS port; 0 takes any that is free', port, 6443)
    .option(
      '--bind-address <address>',
      'one more address to listen on, besides loopback and the advertised one; 0.0.0.0: on all',
    )
    .option(
      '--dns-port <port>',
      'port of the cluster DNS; default: the one of the time before, or a free one',
      port,
    )
    .option('--advertise-address <address>', 'address at which nodes and pods reach this server')
    .addOption(
      new Option('--extra-san <names>', 'more names and addresses of the serving certificate')
        .argParser(listed)
        .default([], 'none'),
    );

/** The cluster that it is of. */
const withNetwork = (command: Command): Command =>
  command
    .option('--service-cluster-ip-range <cidr>', 'addresses of Services', serviceCidr)
    .option('--cluster-cidr <cidr>', 'addresses of pods', clusterCidr)
    .option('--cluster-dns <address>', 'address of the cluster DNS Service', clusterDnsAddress)
    .option('--cluster-domain <domain>', 'domain of the cluster', clusterDomain)
    .option('--cluster-name <name>', 'name in the kubeconfig', 'porthole')
    .option(
      '--pod-routes <topology>',
      'keep routes to pods on this machine, which is connected to all nodes (needs root)',
    )
    .option('--fabric <id>', 'the network of this machine that leads to the nodes, with --pod-routes');

/** What is left out. */
const withParts = (command: Command): Command =>
  command
    .addOption(
      new Option('--disable <parts>', `parts that run elsewhere: ${parts.join(', ')}`)
        .argParser(partsOf)
        .default([], 'none'),
    )
    .addOption(
      new Option(
        '--leader-elect <bool>',
        'of all servers on one store, one runs the controllers, and one the scheduler',
      )
        .choices(['true', 'false'])
        .default('true'),
    )
    .addOption(new Option('--etcd-servers <urls>', 'refused: there is no etcd').hideHelp())
    .addOption(
      durationOption(
        'node-monitor-grace-period',
        'how long a node may be silent before it is marked unhealthy',
        defaultNodeMonitorGraceMs,
      ),
    );

/** What users may ask for at once, and keep. */
const withLimits = (command: Command): Command =>
  command
    .option(
      '--max-requests-inflight <n>',
      'with --max-mutating-requests-inflight: seats that the priority levels share',
      count,
      80,
    )
    .option('--max-mutating-requests-inflight <n>', 'see --max-requests-inflight', count, 40)
    .option('--max-requests-per-user <n>', 'requests of one user that run or wait', count, 500)
    .option('--max-watches-per-user <n>', 'watches of one user', count, 2_000)
    .option('--max-streams-per-user <n>', 'exec, port-forward, log and proxy streams of one user', count, 500)
    .option(
      '--quota-backend-bytes <n>',
      'what all objects together may take; beyond it only deleting and shrinking is left',
      count,
      defaultQuotaBytes,
    )
    .addOption(durationOption('event-ttl', 'how long Events are kept', defaultEventTtlMs));

/** Certificates and tokens. */
const withCertificates = (command: Command): Command =>
  command
    .addOption(
      durationOption(
        'cluster-signing-duration',
        'how long certificates are good that requests (CSRs) get',
        yearMs,
      ),
    )
    .addOption(
      durationOption(
        'legacy-service-account-token-clean-up-period',
        'how long a token in a Secret that its account lists may be of no use',
        yearMs,
      ),
    )
    .addOption(
      durationOption(
        'certificate-validity-period',
        "how long the server's own certificates are good; they are renewed while it runs",
        yearMs,
      ),
    )
    .option(
      '--approve-kubelet-serving',
      "approve kubelets' serving certificates for their Node's name and the addresses that only it has",
      false,
    )
    .option(
      '--encryption-provider-config <file>',
      'an EncryptionConfiguration: which resources lie sealed in the store, with which keys',
    )
    .option(
      '--encryption-provider-config-automatic-reload',
      'read that file again when its content changes; KMS plugins then have one check of health together',
      false,
    )
    .option(
      '--keep-credentials <file>',
      'a list, as porthole up writes it, of kubeconfigs whose certificates are renewed while the server runs',
    )
    .addOption(
      new Option(
        '--service-account-extend-token-expiration <bool>',
        'tokens of pods live for a year, for clients that never read them again',
      )
        .choices(['true', 'false'])
        .default('true'),
    );

export function serverCommand(): Command {
  const command = new Command('server').description(
    'run a control plane in the foreground; writes <data-dir>/admin.kubeconfig',
  );
  for (const add of [
    withPlace,
    withNetwork,
    withParts,
    withEvictions,
    withLimits,
    withCertificates,
    withAudit,
    withAdmission,
    withAuthentication,
    withAuthorization,
  ])
    add(command);
  return command
    .addOption(
      new Option('--log-level <level>', 'how much is logged')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .action(async (flags: Flags) => {
      try {
        await serve(flags);
      } catch (error) {
        throw withRecovery(error, flags.dataDir);
      }
    });
}

function podRouter(flags: Flags): ServerComponent[] {
  const { clusterCidr, fabric, podRoutes, serviceClusterIpRange } = flags;
  if (podRoutes === undefined) return [];
  if (fabric === undefined)
    throw new Error(
      "--pod-routes needs --fabric: the network of this machine that leads to the cluster's nodes",
    );
  return [
    podRouterComponent({
      topology: podRoutes,
      clusterName: fabric,
      clusterCIDR: clusterCidr,
      serviceCIDR: serviceClusterIpRange,
    }),
  ];
}

const leading = (flags: Flags, ...[component, lease]: Parameters<typeof elected>): ServerComponent =>
  flags.leaderElect === 'true' ? elected(component, lease) : component;

/** What runs beside the API server. `address`: of the DNS. */
const componentsOf = (flags: Flags, address: string): ServerComponent[] =>
  [
    dnsComponent({
      clusterIP: flags.clusterDns,
      address,
      port: flags.dnsPort,
      clusterDomain: flags.clusterDomain,
    }),
    leading(flags, schedulerComponent(), 'kube-scheduler'),
    leading(
      flags,
      controllersComponent({
        clusterCidrs: [flags.clusterCidr],
        volumesDir: resolve(flags.dataDir, 'volumes'),
        clusterSigningMs: flags.clusterSigningDuration,
        legacyTokenCleanUpMs: flags.legacyServiceAccountTokenCleanUpPeriod,
        nodeMonitorGracePeriodMs: flags.nodeMonitorGracePeriod,
        nodeEvictions: evictionRatesOf(flags),
        approveKubeletServing: flags.approveKubeletServing,
      }),
      'kube-controller-manager',
    ),
    ...podRouter(flags),
  ].filter((component) => !flags.disable.includes(component.name));

const noAddresses = { bindAddress: undefined, advertiseAddress: undefined, machine: [] };

async function serve(flags: Flags): Promise<void> {
  if (flags.etcdServers !== undefined) {
    throw new Error(
      '--etcd-servers is not supported yet: this server keeps its objects in SQLite below --data-dir',
    );
  }
  if (flags.bindAddress !== undefined) checkBindAddress(flags.bindAddress, everyMachineAddress());
  if (flags.advertiseAddress !== undefined) checkAdvertiseAddress(flags.advertiseAddress);
  const { advertise } = listenAddresses({ ...noAddresses, ...flags });
  const audit = auditFlagsOf(flags);
  const log = createLogger({ level: flags.logLevel, name: 'server' });
  const metrics = createMetrics({ processMetrics: true });
  goOnAfterErrors(log, metrics);
  lookAfterSupervisor(log);
  const server = await startServer({
    metrics,
    dataDir: flags.dataDir,
    securePort: flags.securePort,
    ...(flags.bindAddress === undefined ? {} : { bindAddress: flags.bindAddress }),
    advertiseAddress: advertise,
    extraSans: flags.extraSan,
    serviceCidr: flags.serviceClusterIpRange,
    clusterDomain: flags.clusterDomain,
    clusterName: flags.clusterName,
    components: componentsOf(flags, advertise),
    admission: flags,
    flowControl: {
      total: flags.maxRequestsInflight + flags.maxMutatingRequestsInflight,
      userLimits: {
        requests: flags.maxRequestsPerUser,
        watches: flags.maxWatchesPerUser,
        streams: flags.maxStreamsPerUser,
      },
    },
    quotaBytes: flags.quotaBackendBytes,
    eventTtlMs: flags.eventTtl,
    extendTokenExpiration: flags.serviceAccountExtendTokenExpiration === 'true',
    certificateMs: flags.certificateValidityPeriod,
    approveKubeletServing: flags.approveKubeletServing,
    keepCredentials: flags.keepCredentials,
    audit,
    authentication: flags,
    authorization: flags,
    brought: broughtOf(flags),
    encryptionProviderConfig: flags.encryptionProviderConfig,
    encryptionReload: flags.encryptionProviderConfigAutomaticReload,
    log,
    ...serverWorkers(),
  });
  process.stdout.write(`${server.url}\n`);
  const asked = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
  });
  let stopMeasuring = (): void => {};
  try {
    // A part that can't start ends the process: half a control plane helps nobody.
    await Promise.race([server.ready, asked]);
    settleEngine();
    stopMeasuring = measureProcess(metrics);
    const broken = await Promise.race([asked, server.broken]);
    // Whoever started this process starts it anew, which looks at the store again.
    if (broken !== undefined) throw broken;
  } finally {
    stopMeasuring();
    await server.stop();
  }
}
