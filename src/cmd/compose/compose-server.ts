// A control plane as one process: SQLite storage, API server on one TLS port, and what runs beside it as clients.
import { createScheme } from '../../api/scheme.ts';
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import { dropManagedFields } from '../../client/cache/shared-informer.ts';
import type { Client } from '../../client/client.ts';
import { writeDurably } from '../../component-base/durable-file.ts';
import type { Logger } from '../../component-base/logger.ts';
import { createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { createYamlThread } from '../../component-base/yaml-thread.ts';
import type { ChangingText } from '../../controllers/root-ca-certificate-publisher-controller.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createControlPlane,
  firstAddressOf,
  loopbackUser,
} from '../../controlplane/control-plane.ts';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { type CertificateSigners, openPki, type Pki } from '../../controlplane/pki.ts';
import { kubeletConnection } from '../../registry/core/kubelet-connection.ts';
import { streamingStorage } from '../../registry/core/streaming-storage.ts';
import { openSqliteStorage } from '../../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { createCacheSource } from '../../storage/watch/cache-source.ts';
import { createHttpServer, type ServerTls } from '../../wire/http-server.ts';
import { backupHandler, backupPath } from './backup-endpoint.ts';
import { keepCredentials } from './cluster-credentials.ts';
import { checkDataDirectory, dataPaths, ownDataDirectory, recordContents } from './data-directory.ts';
import { listenAddresses, machineAddresses } from './listen-addresses.ts';
import { pkiFiles } from './pki-files.ts';
import { readCredentials, rotateServerCertificates, type ServerCredentials } from './server-certificates.ts';
import { defaultQuotaBytes, limitStore, quotaHealth, showStoreSize } from './store-quota.ts';

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
  /** PEM of what vouches for this server; a bundle may change while it runs. */
  readonly rootCa: ChangingText;
  /** Sign certificates of nodes and clients. */
  readonly signers: CertificateSigners;
  readonly signal: AbortSignal;
}

export interface ServerOptions {
  readonly dataDir: string;
  /** 0: any free port. */
  readonly securePort: number;
  /** Where the server listens, besides the loopback address. Default: at the advertised address. 0.0.0.0: everywhere. */
  readonly bindAddress?: string;
  /** Where nodes and pods reach the server. Default: the bind address, or 127.0.0.1 when there is none or that is all. */
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
  /** Default true, as upstream. */
  readonly extendTokenExpiration?: boolean | undefined;
  /** How long the server's own certificates are good. Default a year. */
  readonly certificateMs?: number | undefined;
  /** A file as `up` writes it: kubeconfigs of users and nodes that this server keeps renewed. */
  readonly keepCredentials?: string | undefined;
  /** The controllers approve kubelets' serving certificates. */
  readonly approveKubeletServing?: boolean;
  readonly flowControl?: ControlPlaneOptions['flowControl'];
  /** What the objects may take together. Default 1 GiB. */
  readonly quotaBytes?: number | undefined;
  readonly log: Logger;
  /** Shown at /metrics, with what the server counts itself. */
  readonly metrics?: MetricsRegistry;
  /** Tests keep everything in memory. */
  readonly storage?: Storage;
  /** Scripts of threads, when they are bundled apart. */
  readonly workerUrls?: { readonly storage: URL; readonly yaml: URL };
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
  /** Resolves when the store can't be trusted any more: the process must end, and be started anew. */
  readonly broken: Promise<Error>;
  stop(): Promise<void>;
}

const isIp = (text: string): boolean => /^[0-9.]+$/.test(text) || text.includes(':');
/** A start that fails closes what it has opened: nothing is left that could keep the process alive. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const opened = new AsyncDisposableStack();
  try {
    return await openServer(options, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function openServer(options: ServerOptions, opened: AsyncDisposableStack): Promise<RunningServer> {
  const { dataDir, log } = options;
  const clock = systemClock;
  const random = systemRandom;
  const serviceCidr = options.serviceCidr ?? '10.96.0.0/16';
  const clusterDomain = options.clusterDomain ?? 'cluster.local';
  const {
    listen,
    advertise: advertiseAddress,
    addresses,
  } = listenAddresses({
    bindAddress: options.bindAddress,
    advertiseAddress: options.advertiseAddress,
    machine: machineAddresses(),
  });
  const paths = dataPaths(dataDir);
  const owned = ownDataDirectory(dataDir, 'end that one first, or choose another --data-dir');
  opened.defer(() => owned.release());
  const otherKeys = checkDataDirectory(dataDir);
  if (otherKeys.length > 0)
    log.warn({ files: otherKeys }, 'keys or authorities are others than at the last start');

  const broken = Promise.withResolvers<Error>();
  // Disk and keys do not wait for each other.
  const opening = Promise.resolve(
    options.storage ??
      openSqliteStorage({
        directory: paths.store,
        clock,
        onTrouble: (error) => {
          if (error === undefined) log.info({}, 'the store can write again');
          else log.error({ error }, 'the store cannot write');
          if (error?.code === 'Broken' || error?.code === 'Corrupt') broken.resolve(error);
        },
        workerUrl: options.workerUrls?.storage,
      }),
  );
  opened.defer(() => opening.then((storage) => storage.close()).catch(() => undefined));
  const [storage, pki] = await Promise.all([
    opening,
    openPki(pkiFiles(paths.pki), clock, { certificateMs: options.certificateMs }),
  ]);
  const sans = [...addresses, ...(options.extraSans ?? [])];
  const names = {
    dnsNames: [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      `kubernetes.default.svc.${clusterDomain}`,
      ...sans.filter((name) => !isIp(name)),
    ],
    ips: [...new Set(['127.0.0.1', firstAddressOf(serviceCidr), ...sans.filter(isIp)])],
  };
  let credentials = await readCredentials(pki, names);

  const caches = await createCacheSource(storage, clock, (key) =>
    log.error({ key }, 'a stored object is no JSON and is left out; its name stays taken'),
  );
  opened.defer(() => caches.close());
  const yaml = createYamlThread(options.workerUrls?.yaml);
  opened.defer(() => yaml.close());
  let controlPlane: ControlPlane | undefined;
  const server = createHttpServer({
    handler: async (request) => {
      if (controlPlane === undefined) return { status: 503, headers: {}, body: Buffer.from('starting\n') };
      return await controlPlane.handle(request);
    },
    tls: tlsOf(credentials),
    onError: (error, where) => log.error({ error, where }, 'a request failed'),
  });
  opened.defer(() => server.close(0));
  // The port is known, and taken, before the objects that name it are written.
  let port = options.securePort;
  for (const address of listen) ({ port } = await server.listen(port, address));

  const metrics = options.metrics ?? createMetrics({ processMetrics: true });
  showStoreSize(storage, metrics);
  const components = options.components ?? [];
  let working = components.length === 0;
  controlPlane = await createControlPlane({
    scheme: createScheme(),
    caches,
    clock,
    random,
    log,
    metrics,
    serviceAccountKey: pki.serviceAccountKey,
    authorities: pki.authorities,
    serviceCidr,
    clusterDomain,
    advertiseAddress,
    securePort: port,
    health: [
      { name: 'etcd', paths: ['readyz', 'healthz'], check: async () => await storage.check?.() },
      quotaHealth(storage),
    ],
    paths: (authorizer) => new Map([[backupPath, backupHandler({ storage, clock, authorizer })]]),
    approveKubeletServing: options.approveKubeletServing,
    extendTokenExpiration: options.extendTokenExpiration,
    disabledAdmission: options.disabledAdmission,
    flowControl: options.flowControl,
    readYaml: (text) => yaml.read(text),
    streaming: streamingStorage({
      random,
      connection: kubeletConnection(() => ({
        ca: credentials.kubeletServingCaPem,
        cert: credentials.kubeletClient.certificatePem,
        key: credentials.kubeletClient.privateKeyPem,
      })),
    }),
  });
  // Not before: a server whose store is full must start, so that somebody can make room.
  limitStore(storage, options.quotaBytes ?? defaultQuotaBytes, log);
  log.info({ ...controlPlane.bootstrapped, port }, 'API server listens');

  const url = `https://127.0.0.1:${port}`;
  const { adminKubeconfig } = paths;
  const plane = controlPlane;
  const rootCaListeners = new Set<() => void>();
  const writeAdmin = (): void =>
    writeDurably(
      adminKubeconfig,
      kubeconfigText({
        clusterName: options.clusterName ?? 'porthole',
        userName: 'kubernetes-admin',
        server: url,
        caCertificatePem: credentials.caPem,
        credentials: credentials.admin,
      }),
    );
  writeAdmin();
  const rotation = rotateServerCertificates({
    pki,
    names,
    clock,
    log,
    first: credentials,
    everyMs: Math.min(60_000, (options.certificateMs ?? Number.POSITIVE_INFINITY) / 10),
    changed: (now) => {
      credentials = now;
      server.setTls(tlsOf(now));
      writeAdmin();
      for (const tell of rootCaListeners) tell();
    },
    looked: async () => {
      await plane.publishAuthorities();
      if (options.keepCredentials !== undefined) await keepCredentials(pki, clock, options.keepCredentials);
    },
  });

  opened.defer(() => rotation.stop());
  recordContents(dataDir);

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
    rootCa: {
      now: () => pki.caCertificatePem,
      onChange: (listener) => {
        rootCaListeners.add(listener);
        return () => rootCaListeners.delete(listener);
      },
    },
    signers: pki.signers,
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

  return {
    url,
    port,
    adminKubeconfig,
    controlPlane: plane,
    pki,
    ready,
    broken: broken.promise,
    async stop() {
      plane.api.beginShutdown();
      ending.abort();
      await rotation.stop();
      await Promise.allSettled([ready, ...running]);
      await informers.stop();
      await server.close(working ? 1000 : 0);
      caches.close();
      await storage.close();
      owned.release();
    },
  };
}

const tlsOf = ({ serving, clientCaPem }: ServerCredentials): ServerTls => ({
  key: serving.privateKeyPem,
  cert: serving.certificatePem,
  clientCa: clientCaPem,
});
