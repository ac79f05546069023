// What runs beside the API server in one process: cluster DNS, scheduler, controllers; each a client like any other.
import { readFileSync } from 'node:fs';
import { aborted } from '../../base/until-aborted.ts';
import { createEventRecorder, type EventRecorder } from '../../client/event-recorder.ts';
import { usualNodeTimes } from '../../controllers/node/node-health.ts';
import { type EvictionRates, usualEvictionRates } from '../../controllers/node/zone-state.ts';
import { type AutoscalerSettings, usualAutoscaling } from '../../controllers/podautoscaler/decide.ts';
import type { ControllersConfig } from '../../controllers/registry.ts';
import { startAllControllers } from '../../controllers/start-controllers.ts';
import { loopbackUser } from '../../controlplane/control-plane.ts';
import { type DnsOptions, startDns } from '../../network/dns/dns-server.ts';
import { ensureDnsAccess, ensureDnsService, lastDnsPort } from '../../network/dns/dns-service.ts';
import { upstreamsOf } from '../../network/dns/resolv-conf.ts';
import { schedulerName } from '../../scheduler/cluster-events.ts';
import type { SchedulerConfiguration } from '../../scheduler/config/scheduler-configuration.ts';
import { startScheduler } from '../../scheduler/scheduler.ts';
import type { DnsListener } from '../../wire/dns-sockets.ts';
import { ensureDefaultStorageClass } from './default-storage-class.ts';
import { extenderClient } from './extender-client.ts';
import type { ServerComponent } from './run-components.ts';

export const defaultNodeMonitorGraceMs: number = usualNodeTimes.monitorGracePeriodMs;
export const defaultNodeStartupGraceMs: number = usualNodeTimes.startupGracePeriodMs;
export const defaultEvictionRates: EvictionRates = usualEvictionRates;
export const defaultAutoscaling: AutoscalerSettings = usualAutoscaling;

export function controllersComponent(options: {
  readonly clusterCidrs: readonly string[];
  /** Where nodes keep the directories of the default storage class; there is no such class without it. */
  readonly volumesDir?: string;
  readonly clusterSigningMs?: number | undefined;
  readonly nodeMonitorGracePeriodMs?: number | undefined;
  readonly nodeStartupGracePeriodMs?: number | undefined;
  readonly nodeEvictions?: EvictionRates | undefined;
  readonly autoscaling?: AutoscalerSettings | undefined;
  readonly approveKubeletServing?: boolean;
  readonly storageVersionMigrator?: boolean;
  readonly legacyTokenCleanUpMs?: number | undefined;
  readonly loadBalancerRange?: string | undefined;
  /** Names of controllers that do not run. */
  readonly disabled?: readonly string[];
  readonly more?: Pick<
    ControllersConfig,
    'concurrency' | 'nodeCIDRMaskSizeIPv4' | 'nodeCIDRMaskSizeIPv6' | 'terminatedPodThreshold'
  >;
}): ServerComponent {
  return {
    name: 'controllers',
    async start({ clientFor, clock, random, log, metrics, informers, rootCa, signers, signToken, signal }) {
      const failed = new AbortController();
      const running = startAllControllers(
        {
          clientFor,
          clock,
          random,
          log,
          metrics,
          informers,
          signal: AbortSignal.any([signal, failed.signal]),
          disabled: options.disabled ?? [],
        },
        {
          ...options.more,
          rootCa,
          signers,
          signToken,
          legacyTokenCleanUpMs: options.legacyTokenCleanUpMs,
          clusterCIDRs: options.clusterCidrs,
          approveKubeletServing: options.approveKubeletServing ?? false,
          storageVersionMigrator: options.storageVersionMigrator ?? false,
          loadBalancerRange: options.loadBalancerRange,
          ...(options.clusterSigningMs === undefined ? {} : { clusterSigningMs: options.clusterSigningMs }),
          ...(options.nodeMonitorGracePeriodMs === undefined
            ? {}
            : { nodeMonitorGracePeriodMs: options.nodeMonitorGracePeriodMs }),
          ...(options.nodeStartupGracePeriodMs === undefined
            ? {}
            : { nodeStartupGracePeriodMs: options.nodeStartupGracePeriodMs }),
          nodeEvictions: options.nodeEvictions,
          autoscaling: options.autoscaling,
        },
      );
      try {
        await running.ready;
        if (options.volumesDir !== undefined)
          await ensureDefaultStorageClass(clientFor(loopbackUser), options.volumesDir);
      } catch (error) {
        failed.abort();
        await running.done;
        throw error;
      }
      return { done: running.done };
    },
  };
}

export function schedulerComponent(configuration?: SchedulerConfiguration): ServerComponent {
  return {
    name: 'scheduler',
    async start({ clientFor, clock, random, log, metrics, informers, signal }) {
      const client = clientFor({ name: 'system:kube-scheduler', groups: ['system:authenticated'] });
      const eventsOf = (component: string): EventRecorder =>
        createEventRecorder({ client, clock, log }, { component });
      const scheduler = startScheduler({
        client,
        informers,
        events: eventsOf(schedulerName),
        eventsOf,
        clock,
        random,
        log,
        metrics,
        configuration,
        extenderClient,
      });
      return { done: aborted(signal).then(() => scheduler.stop()) };
    },
  };
}

function machineResolvers(): string {
  try {
    return readFileSync('/etc/resolv.conf', 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** On the port of the time before, if it is free: nodes whose watch is not yet back after a restart still reach it. */
async function startDnsAgain(
  last: number | undefined,
  options: Omit<DnsOptions, 'port'>,
): Promise<DnsListener> {
  try {
    return await startDns({ ...options, port: last ?? 0 });
  } catch (error) {
    if (last === undefined || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return startDns({ ...options, port: 0 });
  }
}

export function dnsComponent(options: {
  /** Of the Service kube-dns. */
  readonly clusterIP: string;
  /** Where the server listens; pods reach it through the Service. */
  readonly address: string;
  /** The one that the machine's packet filter lets pods through to. Undefined: any. */
  readonly port?: number | undefined;
  readonly clusterDomain: string;
}): ServerComponent {
  return {
    name: 'dns',
    async start({ clientFor, clock, random, log, informers, signal }) {
      const { address, clusterDomain, clusterIP } = options;
      const client = clientFor(loopbackUser);
      const upstreams = upstreamsOf(machineResolvers(), [clusterIP]);
      const dns = {
        informers,
        address,
        clusterDomain,
        upstreams: () => upstreams,
        clock,
        random,
        log,
      };
      const listener =
        options.port === undefined
          ? await startDnsAgain(await lastDnsPort(client), dns)
          : await startDns({ ...dns, port: options.port });
      try {
        await ensureDnsService(client, { clusterIP, address, port: listener.port });
        await ensureDnsAccess(client, 'system:kube-proxy');
      } catch (error) {
        await listener.close();
        throw error;
      }
      return { done: aborted(signal).then(() => listener.close()) };
    },
  };
}
