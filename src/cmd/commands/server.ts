// porthole server: a control plane alone, in the foreground.
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ApiEnablement } from '../../api/api-enablement.ts';
import { storageversionmigrations } from '../../api/generated/resources.ts';
import { createLogger } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { autoscalingOf } from '../autoscaler-options.ts';
import { startServer } from '../compose/compose-server.ts';
import { withRecovery } from '../compose/data-directory.ts';
import { elected } from '../compose/elected.ts';
import { podRouterComponent } from '../compose/pod-router-component.ts';
import type { ServerComponent } from '../compose/run-components.ts';
import { controllersComponent, dnsComponent, schedulerComponent } from '../compose/server-components.ts';
import { controllerSettingsOf, electionTimesOf } from '../controller-manager-options.ts';
import { evictionRatesOf } from '../eviction-options.ts';
import { goOnAfterErrors } from '../go-on-after-errors.ts';
import { settleOnceStarted } from '../keep-compiled.ts';
import { measureProcess } from '../measure-process.ts';
import { schedulerConfigurationOf } from '../scheduler-options.ts';
import { type ServerFlags, withServerOptions } from '../server-options.ts';
import { settingsOf } from '../server-settings.ts';
import { settleEngine } from '../settle-engine.ts';
import { serverWorkers } from '../setup/package-root.ts';
import { lookAfterSupervisor } from '../supervisor/look-after-supervisor.ts';

export function serverCommand(): Command {
  return withServerOptions(
    new Command('server').description(
      'run a control plane in the foreground; writes <data-dir>/admin.kubeconfig',
    ),
  ).action(async (flags: ServerFlags) => {
    try {
      await serve(flags);
    } catch (error) {
      throw withRecovery(error, flags.dataDir);
    }
  });
}

function podRouter(flags: ServerFlags): ServerComponent[] {
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
      loadBalancerRange: flags.loadBalancerCidr,
    }),
  ];
}

const leading = (flags: ServerFlags, ...[component, lease]: Parameters<typeof elected>): ServerComponent =>
  flags.leaderElect === 'true' ? elected(component, lease, electionTimesOf(flags)) : component;

function controllers(flags: ServerFlags, api: ApiEnablement | undefined): ServerComponent {
  const { disabled, ...more } = controllerSettingsOf(flags);
  return controllersComponent({
    clusterCidrs: [flags.clusterCidr],
    volumesDir: resolve(flags.dataDir, 'volumes'),
    clusterSigningMs: flags.clusterSigningDuration,
    legacyTokenCleanUpMs: flags.legacyServiceAccountTokenCleanUpPeriod,
    nodeMonitorGracePeriodMs: flags.nodeMonitorGracePeriod,
    nodeStartupGracePeriodMs: flags.nodeStartupGracePeriod,
    nodeEvictions: evictionRatesOf(flags),
    autoscaling: autoscalingOf(flags),
    approveKubeletServing: flags.approveKubeletServing,
    loadBalancerRange: flags.loadBalancerCidr,
    storageVersionMigrator: api?.serves(storageversionmigrations) ?? false,
    disabled,
    more,
  });
}

/** What runs beside the API server. `address`: of the DNS. */
const componentsOf = (flags: ServerFlags, address: string, api?: ApiEnablement): ServerComponent[] =>
  [
    dnsComponent({
      clusterIP: flags.clusterDns,
      address,
      port: flags.dnsPort,
      clusterDomain: flags.clusterDomain,
    }),
    leading(flags, schedulerComponent(schedulerConfigurationOf(flags)), 'kube-scheduler'),
    leading(flags, controllers(flags, api), 'kube-controller-manager'),
    ...podRouter(flags),
  ].filter((component) => !flags.disable.includes(component.name));

async function serve(flags: ServerFlags): Promise<void> {
  const settings = settingsOf(flags);
  const log = createLogger({ level: flags.logLevel, name: 'server' });
  const metrics = createMetrics({ processMetrics: true });
  goOnAfterErrors(log, metrics);
  lookAfterSupervisor(log);
  const server = await startServer({
    ...settings,
    metrics,
    components: componentsOf(flags, settings.advertiseAddress, settings.api),
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
    settleOnceStarted(settleEngine);
    stopMeasuring = measureProcess(metrics);
    const broken = await Promise.race([asked, server.broken]);
    // Whoever started this process starts it anew, which looks at the store again.
    if (broken !== undefined) throw broken;
  } finally {
    stopMeasuring();
    await server.stop();
  }
}
