// What the flags of `porthole server` make of a control plane, but for what runs beside it. Slips are told before anything is opened.
import { apiEnablementOf } from './api-enablement-options.ts';
import { auditFlagsOf } from './audit-options.ts';
import { broughtOf } from './authentication-options.ts';
import type { ServerOptions } from './compose/compose-server.ts';
import {
  checkAdvertiseAddress,
  checkBindAddress,
  everyMachineAddress,
  listenAddresses,
} from './compose/listen-addresses.ts';
import type { ServerFlags } from './server-options.ts';

export type ServerSettings = Omit<
  ServerOptions,
  'components' | 'log' | 'metrics' | 'storage' | 'workerUrls'
> & {
  readonly advertiseAddress: string;
};

const noAddresses = { bindAddress: undefined, advertiseAddress: undefined, machine: [] };

/** Throws what is wrong with them, or with a file of keys that they name. */
export function settingsOf(flags: ServerFlags): ServerSettings {
  if (flags.etcdServers !== undefined)
    throw new Error(
      '--etcd-servers is not supported yet: this server keeps its objects in SQLite below --data-dir',
    );
  if (flags.bindAddress !== undefined) checkBindAddress(flags.bindAddress, everyMachineAddress());
  if (flags.advertiseAddress !== undefined) checkAdvertiseAddress(flags.advertiseAddress);
  const { advertise } = listenAddresses({ ...noAddresses, ...flags });
  return {
    api: apiEnablementOf(flags),
    audit: auditFlagsOf(flags),
    dataDir: flags.dataDir,
    securePort: flags.securePort,
    ...(flags.bindAddress === undefined ? {} : { bindAddress: flags.bindAddress }),
    advertiseAddress: advertise,
    extraSans: flags.extraSan,
    serviceCidr: flags.serviceClusterIpRange,
    nodePorts: flags.serviceNodePortRange,
    clusterDomain: flags.clusterDomain,
    clusterName: flags.clusterName,
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
    authentication: flags,
    authorization: flags,
    brought: broughtOf(flags),
    encryptionProviderConfig: flags.encryptionProviderConfig,
    encryptionReload: flags.encryptionProviderConfigAutomaticReload,
  };
}
