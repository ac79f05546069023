// A control plane as one process: SQLite storage, API server on one TLS port, and what runs beside it as clients.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createScheme } from '../../api/scheme.ts';
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import { dropManagedFields } from '../../client/cache/shared-informer.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import {
  type ControlPlane,
  createControlPlane,
  firstAddressOf,
  loopbackUser,
} from '../../controlplane/control-plane.ts';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { openPki, type Pki } from '../../controlplane/pki.ts';
import type { KeyPair } from '../../crypto/certificates.ts';
import { kubeletConnection } from '../../registry/core/kubelet-connection.ts';
import { streamingStorage } from '../../registry/core/streaming-storage.ts';
import { openSqliteStorage } from '../../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { createCacheSource } from '../../storage/watch/cache-source.ts';
import { createHttpServer } from '../../wire/http-server.ts';
import { pkiFiles } from './pki-files.ts';

/** Something that runs beside the API server as its client: controllers, scheduler, DNS. */
export interface ServerComponent {
  readonly name: string;
  /** Resolves once it works; ends when the signal aborts. The answer, if any, resolves when it has ended. */
  start(context: ComponentContext): Promise<{ readonly done: Promise<void> } | undefined>;
}

export interface ComponentContext {
  /** A client in this process that acts as `user`. */
  clientFor(user: UserInfo): Client;
  /** Shared by all components; started once all of them have asked for theirs. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly rootCaPem: string;
  /** Signs certificates of nodes and clients. */
  readonly authority: KeyPair;
  readonly signal: AbortSignal;
}

export interface ServerOptions {
  readonly dataDir: string;
  /** 0: any free port. */
  readonly securePort: number;
  /** Default 0.0.0.0. */
  readonly bindAddress?: string;
  /** Where nodes and pods reach the server. Default: the bind address, or 127.0.0.1 when that is all of them. */
  readonly advertiseAddress?: string;
  /** More names and addresses of the serving certificate. */
  readonly extraSans?: readonly string[];
  /** Default 10.96.0.0/16. */
  readonly serviceCidr?: string;
  /** Default cluster.local. */
  readonly clusterDomain?: string;
  readonly clusterName?: string;
  readonly components?: readonly ServerComponent[];
  readonly disabledAdmission?: readonly string[];
  readonly log: Logger;
  /** Tests keep everything in memory. */
  readonly storage?: Storage;
  /** Script of SQLite's writer thread, when it is bundled apart. */
  readonly storageWorkerUrl?: URL;
}

export interface RunningServer {
  /** `https://127.0.0.1:6443`. */
  readonly url: string;
  readonly port: number;
  readonly adminKubeconfig: string;
  readonly controlPlane: ControlPlane;
  readonly pki: Pki;
  /** Resolves when all components work. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

const isIp = (text: string): boolean => /^[0-9.]+$/.test(text) || text.includes(':');
const anyAddress: readonly string[] = ['0.0.0.0', '::', ''];

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { dataDir, log } = options;
  const clock = systemClock;
  const random = systemRandom;
  const serviceCidr = options.serviceCidr ?? '10.96.0.0/16';
  const clusterDomain = options.clusterDomain ?? 'cluster.local';
  const bindAddress = options.bindAddress ?? '0.0.0.0';
  const advertiseAddress =
    options.advertiseAddress ?? (anyAddress.includes(bindAddress) ? '127.0.0.1' : bindAddress);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });

  // Disk and keys do not wait for each other.
  const [storage, pki] = await Promise.all([
    options.storage ??
      openSqliteStorage({
        directory: join(dataDir, 'db'),
        clock,
        ...(options.storageWorkerUrl === undefined ? {} : { workerUrl: options.storageWorkerUrl }),
      }),
    openPki(pkiFiles(join(dataDir, 'pki')), clock),
  ]);
  const sans = [advertiseAddress, ...(options.extraSans ?? [])];
  const serving = await pki.serving({
    dnsNames: [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      `kubernetes.default.svc.${clusterDomain}`,
      ...sans.filter((name) => !isIp(name)),
    ],
    ips: [...new Set(['127.0.0.1', firstAddressOf(serviceCidr), ...sans.filter(isIp)])],
  });
  // Kubelets know the name. Without a group it is nobody to an API server, which a node may claim to be.
  const kubeletClient = await pki.client('apiserver-kubelet-client', 'kube-apiserver-kubelet-client', []);
  const admin = await pki.client('admin', 'kubernetes-admin', ['kubeadm:cluster-admins', 'system:masters']);

  const caches = await createCacheSource(storage, clock);
  let controlPlane: ControlPlane | undefined;
  const server = createHttpServer({
    handler: async (request) => {
      if (controlPlane === undefined) return { status: 503, headers: {}, body: Buffer.from('starting\n') };
      return await controlPlane.handle(request);
    },
    tls: { key: serving.privateKeyPem, cert: serving.certificatePem, clientCa: pki.caCertificatePem },
    onError: (error, where) => log.error({ error, where }, 'a request failed'),
  });
  // The port is known, and taken, before the objects that name it are written.
  const { port } = await server.listen(options.securePort, bindAddress);

  const components = options.components ?? [];
  let working = components.length === 0;
  controlPlane = await createControlPlane({
    scheme: createScheme(),
    caches,
    clock,
    random,
    log,
    metrics: createMetrics({ processMetrics: true }),
    serviceAccountKey: pki.serviceAccountKey,
    clientCaPem: pki.caCertificatePem,
    serviceCidr,
    clusterDomain,
    advertiseAddress,
    securePort: port,
    disabledAdmission: options.disabledAdmission,
    streaming: streamingStorage({
      random,
      connection: kubeletConnection({
        ca: pki.caCertificatePem,
        cert: kubeletClient.certificatePem,
        key: kubeletClient.privateKeyPem,
      }),
    }),
  });
  log.info({ ...controlPlane.bootstrapped, port }, 'API server listens');

  const url = `https://${anyAddress.includes(bindAddress) ? '127.0.0.1' : bindAddress}:${port}`;
  const adminKubeconfig = join(dataDir, 'admin.kubeconfig');
  writePrivate(
    adminKubeconfig,
    kubeconfigText({
      clusterName: options.clusterName ?? 'porthole',
      userName: 'kubernetes-admin',
      server: url,
      caCertificatePem: pki.caCertificatePem,
      credentials: admin,
    }),
  );

  const ending = new AbortController();
  const informers = createInformerFactory(
    { client: controlPlane.clientFor(loopbackUser), clock, random, log },
    { trim: dropManagedFields },
  );
  const context: ComponentContext = {
    clientFor: controlPlane.clientFor,
    informers,
    clock,
    random,
    log,
    rootCaPem: pki.caCertificatePem,
    authority: pki.authority,
    signal: ending.signal,
  };
  const running: Promise<void>[] = [];
  const ready = Promise.all(
    components.map(async (component) => {
      const started = await component.start({ ...context, log: log.child({ component: component.name }) });
      if (started !== undefined) running.push(started.done);
    }),
  ).then(() => {
    working = true;
  });
  informers.start();

  const plane = controlPlane;
  return {
    url,
    port,
    adminKubeconfig,
    controlPlane: plane,
    pki,
    ready,
    async stop() {
      plane.api.beginShutdown();
      ending.abort();
      await Promise.allSettled([ready, ...running]);
      await informers.stop();
      await server.close(working ? 1000 : 0);
      caches.close();
      await storage.close();
    },
  };
}

function writePrivate(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}
