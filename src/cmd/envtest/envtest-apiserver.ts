// What envtest starts as kube-apiserver: the API server alone, as whom its flags say, over the folder of the etcd beside it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '../../component-base/logger.ts';
import type { BroughtCredentials } from '../compose/brought-credentials.ts';
import { startServer } from '../compose/compose-server.ts';
import type { AdmissionFlags } from '../compose/configured-admission.ts';
import { serverWorkers } from '../setup/package-root.ts';
import { untilStopped } from '../until-stopped.ts';
import { folderOfEtcd } from './etcd-placeholder.ts';

export interface ApiserverFlags extends AdmissionFlags {
  readonly etcdServers: string;
  readonly securePort: number;
  readonly bindAddress?: string;
  readonly advertiseAddress?: string;
  readonly certDir?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly serviceAccountIssuer?: string;
  readonly serviceAccountSigningKeyFile?: string;
  readonly serviceClusterIpRange?: string;
}

const read = (file: string): string => readFileSync(file, 'utf8');

/** As kube-apiserver: the files that are named, else those of this name in the folder, if they are there. */
function credentialsOf(flags: ApiserverFlags): BroughtCredentials {
  const { certDir, clientCaFile, serviceAccountSigningKeyFile } = flags;
  const inFolder = (name: string): string | undefined => {
    const file = certDir === undefined ? undefined : join(certDir, name);
    return file !== undefined && existsSync(file) ? file : undefined;
  };
  const certificate = flags.tlsCertFile ?? inFolder('apiserver.crt');
  const key = flags.tlsPrivateKeyFile ?? inFolder('apiserver.key');
  return {
    serving:
      certificate === undefined || key === undefined
        ? undefined
        : () => ({ certificatePem: read(certificate), privateKeyPem: read(key) }),
    clientCaPem: clientCaFile && read(clientCaFile),
    serviceAccountKeyPem: serviceAccountSigningKeyFile && read(serviceAccountSigningKeyFile),
  };
}

/** Until it is told to end. No controllers and no scheduler, as with envtest's own programs. */
export async function serveEnvtest(flags: ApiserverFlags): Promise<void> {
  const { advertiseAddress, bindAddress, serviceClusterIpRange } = flags;
  const server = await startServer({
    dataDir: await folderOfEtcd(flags.etcdServers),
    securePort: flags.securePort,
    ...(bindAddress && { bindAddress }),
    ...(advertiseAddress && { advertiseAddress }),
    ...(serviceClusterIpRange && { serviceCidr: serviceClusterIpRange }),
    brought: credentialsOf(flags),
    ...(flags.serviceAccountIssuer && {
      authentication: { serviceAccountIssuer: [flags.serviceAccountIssuer] },
    }),
    admission: flags,
    log: createLogger({ level: 'warn', name: 'kube-apiserver' }),
    ...serverWorkers(),
  });
  try {
    const broken = await Promise.race([untilStopped(), server.broken]);
    if (broken !== undefined) throw broken;
  } finally {
    await server.stop();
  }
}
