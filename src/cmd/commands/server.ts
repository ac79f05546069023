// porthole server: a control plane alone, in the foreground.

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { createLogger, type LogLevel } from '../../component-base/logger.ts';
import { clusterCidr, clusterDnsAddress, clusterDomain, serviceCidr } from '../compose/cluster-addresses.ts';
import { type ServerComponent, startServer } from '../compose/compose-server.ts';
import { podRouterComponent } from '../compose/pod-router-component.ts';
import { controllersComponent, dnsComponent, schedulerComponent } from '../compose/server-components.ts';
import { entryFile, isBundled } from '../setup/package-root.ts';

interface Flags {
  readonly dataDir: string;
  readonly securePort: number;
  readonly bindAddress: string;
  readonly advertiseAddress?: string;
  readonly extraSan: readonly string[];
  readonly serviceClusterIpRange: string;
  readonly clusterCidr: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly clusterName: string;
  readonly podRoutes?: string;
  readonly disable: readonly string[];
  readonly etcdServers?: string;
  readonly disableAdmissionPlugins: readonly string[];
  readonly logLevel: LogLevel;
}

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new InvalidArgumentError('not a port');
  return value;
}

const list = (text: string): string[] => text.split(',').filter((part) => part !== '');

export function serverCommand(): Command {
  return new Command('server')
    .description('run a control plane in the foreground; writes <data-dir>/admin.kubeconfig')
    .requiredOption('--data-dir <folder>', 'where keys and objects are kept')
    .option('--secure-port <port>', 'TLS port; 0 takes any that is free', port, 6443)
    .option('--bind-address <address>', 'address to listen on', '0.0.0.0')
    .option('--advertise-address <address>', 'address at which nodes and pods reach this server')
    .option('--extra-san <names>', 'more names and addresses of the serving certificate', list, [])
    .option('--service-cluster-ip-range <cidr>', 'addresses of Services', serviceCidr)
    .option('--cluster-cidr <cidr>', 'addresses of pods', clusterCidr)
    .option('--cluster-dns <address>', 'address of the cluster DNS Service', clusterDnsAddress)
    .option('--cluster-domain <domain>', 'domain of the cluster', clusterDomain)
    .option('--cluster-name <name>', 'name in the kubeconfig', 'porthole')
    .option(
      '--pod-routes <topology>',
      'keep routes to pods on this machine, which is connected to all nodes (needs root)',
    )
    .option('--disable <parts>', 'parts that run elsewhere: dns, scheduler, controllers', list, [])
    .option('--etcd-servers <urls>', 'keep objects in etcd')
    .option('--disable-admission-plugins <names>', 'admission plugins to leave out', list, [])
    .option('--log-level <level>', 'debug, info, warn, error or silent', 'info')
    .action(serve);
}

const podRouter = ({ clusterCidr, podRoutes, serviceClusterIpRange }: Flags): ServerComponent[] =>
  podRoutes === undefined
    ? []
    : [
        podRouterComponent({
          topology: podRoutes,
          clusterCIDR: clusterCidr,
          serviceCIDR: serviceClusterIpRange,
        }),
      ];

async function serve(flags: Flags): Promise<void> {
  if (flags.etcdServers !== undefined) {
    throw new Error(
      '--etcd-servers is not supported yet: this server keeps its objects in SQLite below --data-dir',
    );
  }
  const anywhere = flags.bindAddress === '0.0.0.0' || flags.bindAddress === '::';
  const advertise = flags.advertiseAddress ?? (anywhere ? '127.0.0.1' : flags.bindAddress);
  const log = createLogger({ level: flags.logLevel, name: 'server' });
  const server = await startServer({
    dataDir: flags.dataDir,
    securePort: flags.securePort,
    bindAddress: flags.bindAddress,
    advertiseAddress: advertise,
    extraSans: flags.extraSan,
    serviceCidr: flags.serviceClusterIpRange,
    clusterDomain: flags.clusterDomain,
    clusterName: flags.clusterName,
    components: [
      dnsComponent({
        clusterIP: flags.clusterDns,
        address: advertise,
        clusterDomain: flags.clusterDomain,
      }),
      schedulerComponent(),
      controllersComponent({
        clusterCidrs: [flags.clusterCidr],
        volumesDir: resolve(flags.dataDir, 'volumes'),
      }),
      ...podRouter(flags),
    ].filter((component) => !flags.disable.includes(component.name)),
    disabledAdmission: flags.disableAdmissionPlugins,
    log,
    ...(isBundled()
      ? { storageWorkerUrl: pathToFileURL(entryFile('sqlite-writer', 'src/storage/sqlite/sqlite-writer.ts')) }
      : {}),
  });
  process.stdout.write(`${server.url}\n`);
  const asked = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
  });
  try {
    // A part that can't start ends the process: half a control plane helps nobody.
    await Promise.race([server.ready, asked]);
    await asked;
  } finally {
    await server.stop();
  }
}
