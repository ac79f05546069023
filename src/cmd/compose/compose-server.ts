// A control plane as one process: SQLite storage, API server on one TLS port, and what runs beside it as clients.

import type { ApiEnablement } from '../../api/api-enablement.ts';
import { createScheme } from '../../api/scheme.ts';
import type { HealthCheck } from '../../apiserver/healthz.ts';
import { comparableIp } from '../../base/ip.ts';
import { once } from '../../base/once.ts';
import type { PortRange } from '../../base/port-range.ts';
import { writeDurably } from '../../component-base/durable-file.ts';
import { createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { createYamlThread } from '../../component-base/yaml-thread.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createControlPlane,
} from '../../controlplane/control-plane.ts';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { openPki, type Pki } from '../../controlplane/pki.ts';
import { kubeletConnection } from '../../registry/core/kubelet-connection.ts';
import { streamingStorage } from '../../registry/core/streaming-storage.ts';
import { kubeletReader } from '../../registry/metrics/read-kubelet.ts';
import type { Storage } from '../../storage/storage.ts';
import { createHttpServer, type HttpServer, type ServerTls } from '../../wire/http-server.ts';
import { backupHandler, backupPath } from './backup-endpoint.ts';
import { type BroughtCredentials, withBrought } from './brought-credentials.ts';
import { type AdmissionFlags, configuredAdmission } from './configured-admission.ts';
import { auditOf, configuredFlags, type FlagOptions } from './configured-flags.ts';
import { checkDataDirectory, dataPaths, ownDataDirectory, recordContents } from './data-directory.ts';
import { everyMachineAddress, listenAddresses, machineAddresses } from './listen-addresses.ts';
import { openCaches, openStore, type StoreOptions } from './open-store.ts';
import { pkiFiles } from './pki-files.ts';
import { type RootCa, rootCaOf, type ServerComponent, startComponents } from './run-components.ts';
import { readCredentials, rotateServerCertificates, type ServerCredentials } from './server-certificates.ts';
import { servingNames } from './serving-names.ts';
import { defaultQuotaBytes, limitStore, quotaHealth, showStoreSize } from './store-quota.ts';
export interface ServerOptions extends Omit<StoreOptions & FlagOptions, 'metrics'> {
  /** 0: any free port. */
  readonly securePort: number;
  /** Where the server listens, besides the loopback address. Default: at the advertised address. 0.0.0.0: everywhere. */
  readonly bindAddress?: string;
  /** Instead of all these addresses: for a trial, before the advertised one is there. */
  readonly listen?: readonly string[];
  /** Where nodes and pods reach the server. Default: the bind address, or 127.0.0.1 when there is none or that is all. */
  readonly advertiseAddress?: string;
  /** More names and addresses of the serving certificate. */
  readonly extraSans?: readonly string[];
  /** Default 10.96.0.0/16. */
  readonly serviceCidr?: string;
  readonly nodePorts?: PortRange | undefined;
  /** Default cluster.local. */
  readonly clusterDomain?: string;
  readonly clusterName?: string;
  readonly components?: readonly ServerComponent[];
  /** Which admission plugins look at writes. */
  readonly admission?: AdmissionFlags | undefined;
  /** Default true, as upstream. */
  readonly extendTokenExpiration?: boolean | undefined;
  /** In the place of the server's own. */
  readonly brought?: BroughtCredentials | undefined;
  /** How long the server's own certificates are good. Default a year. */
  readonly certificateMs?: number | undefined;
  /** A file as `up` writes it: kubeconfigs of users and nodes that this server keeps renewed. */
  readonly keepCredentials?: string | undefined;
  /** Which of the built-in API is served. Default: what is on by itself. */
  readonly api?: ApiEnablement;
  /** The controllers approve kubelets' serving certificates. */
  readonly approveKubeletServing?: boolean;
  readonly flowControl?: ControlPlaneOptions['flowControl'];
  /** What the objects may take together. Default 1 GiB. */
  readonly quotaBytes?: number | undefined;
  /** Shown at /metrics, with what the server counts itself. */
  readonly metrics?: MetricsRegistry;
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
  /** Once, however often it is asked for. */
  stop(): Promise<void>;
}

/** A start that fails closes what it has opened: nothing is left that could keep the process alive. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const opened = new AsyncDisposableStack();
  try {
    const metrics = options.metrics ?? createMetrics({ processMetrics: true });
    return await openServer({ ...options, metrics }, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

type Options = ServerOptions & { readonly metrics: MetricsRegistry };

const clock = systemClock;
const random = systemRandom;

async function openServer(options: Options, opened: AsyncDisposableStack): Promise<RunningServer> {
  const { listen, advertise, addresses } = listenAddresses({
    bindAddress: options.bindAddress,
    advertiseAddress: options.advertiseAddress,
    machine: machineAddresses(),
  });
  const owned = ownData(options, opened);
  const audit = await auditOf(options, opened);
  const broken = Promise.withResolvers<Error>();
  const [storage, pki] = await openStoreAndKeys(options, opened, broken.resolve);
  const cluster = {
    serviceCidr: options.serviceCidr ?? '10.96.0.0/16',
    clusterDomain: options.clusterDomain ?? 'cluster.local',
  };
  const names = servingNames({ ...cluster, advertise, sans: [...addresses, ...(options.extraSans ?? [])] });
  const identity = { names, credentials: await readCredentials(pki, names) };
  const { encryption, caches } = await openCaches(storage, options, opened);
  const { server, serve } = openDoor(options, identity, opened);
  // The port is known, and taken, before the objects that name it are written.
  let port = options.securePort;
  for (const address of options.listen ?? listen) ({ port } = await server.listen(port, address));
  const configured = await configuredFlags(options, opened);
  const plane = await createControlPlane({
    ...planeOptions(options, { storage, pki, identity, health: encryption.health }, opened),
    ...cluster,
    audit,
    caches,
    admission: await configuredAdmission(options.admission ?? {}, clock, configured.defer),
    authentication: configured.settings,
    authorizers: configured.authorizers,
    advertiseAddress: advertise,
    securePort: port,
  });
  opened.defer(() => plane.close());
  serve(plane);
  // Not before: a server whose store is full must start, so that somebody can make room.
  limitStore(storage, options.quotaBytes ?? defaultQuotaBytes, options.log);
  options.log.info({ ...plane.bootstrapped, port }, 'API server listens');

  const url = `https://127.0.0.1:${port}`;
  const rootCa = rootCaOf(pki);
  const rotation = keepFresh(options, { url, pki, identity, server, plane, rootCa });
  opened.defer(() => rotation.stop());
  recordContents(options.dataDir);
  const components = startComponents(options, plane, pki, rootCa);
  return {
    url,
    port,
    adminKubeconfig: dataPaths(options.dataDir).adminKubeconfig,
    controlPlane: plane,
    pki,
    ready: components.ready,
    broken: broken.promise,
    stop: once(async () => {
      plane.api.beginShutdown();
      components.end();
      await rotation.stop();
      await components.ended();
      await server.close(components.areReady() ? 1000 : 0);
      await audit?.backend.close();
      configured.stop();
      plane.close();
      caches.close();
      encryption.stop();
      await encryption.settled();
      await storage.close();
      owned.release();
    }),
  };
}

/** One process at a time; what is in the directory is what was there at the last start. */
function ownData({ dataDir, log }: ServerOptions, opened: AsyncDisposableStack): { release(): void } {
  const owned = ownDataDirectory(dataDir, 'end that one first, or choose another --data-dir');
  opened.defer(() => owned.release());
  const otherKeys = checkDataDirectory(dataDir);
  if (otherKeys.length > 0)
    log.warn({ files: otherKeys }, 'keys or authorities are others than at the last start');
  return owned;
}

const openKeys = async ({ brought, certificateMs, dataDir, log }: ServerOptions): Promise<Pki> =>
  withBrought(await openPki(pkiFiles(dataPaths(dataDir).pki), clock, { certificateMs }), brought, (error) =>
    log.error({ error }, 'the files of a flag were not taken up: what was there before holds'),
  );

/** Disk and keys do not wait for each other. */
const openStoreAndKeys = (
  options: Options,
  opened: AsyncDisposableStack,
  onBroken: (error: Error) => void,
): Promise<[Storage, Pki]> => Promise.all([openStore(options, opened, onBroken), openKeys(options)]);

/** Who this server says it is: renewed while it runs. */
interface Identity {
  readonly names: ReturnType<typeof servingNames>;
  credentials: ServerCredentials;
}

/** The socket is there before the control plane is: who asks until then waits for its answer, and need not ask again. */
function openDoor(
  { log }: ServerOptions,
  identity: Identity,
  opened: AsyncDisposableStack,
): { readonly server: HttpServer; serve(plane: ControlPlane): void } {
  const made = Promise.withResolvers<ControlPlane>();
  const server = createHttpServer({
    handler: async (request) => (await made.promise).handle(request),
    tls: tlsOf(identity.credentials),
    onError: (error, where) => log.error({ error, where }, 'a request failed'),
  });
  opened.defer(() => server.close(0));
  return { server, serve: made.resolve };
}

const isMachine = (ip: string): boolean => everyMachineAddress().some((own) => comparableIp(own) === ip);

/** What the control plane gets of the flags, the store and the keys. */
function planeOptions(
  options: Options,
  {
    storage,
    pki,
    identity,
    health,
  }: { storage: Storage; pki: Pki; identity: Identity; health: readonly HealthCheck[] },
  opened: AsyncDisposableStack,
): Omit<
  ControlPlaneOptions,
  | 'caches'
  | 'admission'
  | 'audit'
  | 'advertiseAddress'
  | 'authentication'
  | 'authorizers'
  | 'securePort'
  | 'serviceCidr'
  | 'clusterDomain'
> {
  const yaml = createYamlThread(options.workerUrls?.yaml);
  opened.defer(() => yaml.close());
  const connection = kubeletConnection(() => ({
    ca: identity.credentials.kubeletServingCaPem,
    cert: identity.credentials.kubeletClient.certificatePem,
    key: identity.credentials.kubeletClient.privateKeyPem,
  }));
  const { metrics } = options;
  showStoreSize(storage, metrics);
  for (const warning of options.api?.warnings ?? []) options.log.warn({}, warning);
  return {
    scheme: createScheme(options.api?.serves),
    clock,
    random,
    log: options.log,
    metrics,
    serviceAccountKey: pki.serviceAccountKey,
    authorities: pki.authorities,
    health: [
      { name: 'etcd', paths: ['readyz', 'healthz'], check: async () => await storage.check?.() },
      quotaHealth(storage),
      ...health,
    ],
    paths: (authorizer) => new Map([[backupPath, backupHandler({ storage, clock, authorizer })]]),
    approveKubeletServing: options.approveKubeletServing,
    nodePorts: options.nodePorts,
    extendTokenExpiration: options.extendTokenExpiration,
    flowControl: options.flowControl,
    readYaml: (text) => yaml.read(text),
    isMachine,
    frontProxyClient: () => identity.credentials.frontProxyClient,
    streaming: streamingStorage({ random, isMachine, connection }),
    kubelets: kubeletReader(connection),
  };
}

/** Writes the administrator's kubeconfig, and again, with the rest, whenever certificates are renewed. */
function keepFresh(
  options: ServerOptions,
  {
    url,
    pki,
    identity,
    server,
    plane,
    rootCa,
  }: {
    url: string;
    pki: Pki;
    identity: Identity;
    server: HttpServer;
    plane: ControlPlane;
    rootCa: RootCa;
  },
): ReturnType<typeof rotateServerCertificates> {
  const writeAdmin = (): void =>
    writeDurably(
      dataPaths(options.dataDir).adminKubeconfig,
      kubeconfigText({
        clusterName: options.clusterName ?? 'porthole',
        userName: 'kubernetes-admin',
        server: url,
        caCertificatePem: identity.credentials.rootCaPem,
        credentials: identity.credentials.admin,
      }),
    );
  writeAdmin();
  return rotateServerCertificates({
    pki,
    names: identity.names,
    clock,
    log: options.log,
    first: identity.credentials,
    everyMs: Math.min(60_000, (options.certificateMs ?? Number.POSITIVE_INFINITY) / 10),
    changed: (now) => {
      identity.credentials = now;
      server.setTls(tlsOf(now));
      writeAdmin();
      rootCa.changed();
    },
    looked: async () => {
      await plane.publishAuthorities();
      if (options.keepCredentials !== undefined) {
        const { keepCredentials } = await import('./cluster-credentials.ts');
        await keepCredentials(pki, clock, options.keepCredentials);
      }
      await plane.repair();
    },
  });
}

const tlsOf = ({ serving, clientCaPem, named }: ServerCredentials): ServerTls => ({
  key: serving.privateKeyPem,
  cert: serving.certificatePem,
  clientCa: clientCaPem,
  named,
});
