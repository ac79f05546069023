// A control plane as one process: SQLite storage, API server on one TLS port, and what runs beside it as clients.

import type { ApiEnablement } from '../../api/api-enablement.ts';
import { createScheme } from '../../api/scheme.ts';
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts';
import type { HealthCheck } from '../../apiserver/healthz.ts';
import type { AuditConfig } from '../../apiserver/server-config.ts';
import type { Clock } from '../../base/clock.ts';
import { comparableIp } from '../../base/ip.ts';
import { once } from '../../base/once.ts';
import type { Random } from '../../base/random.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import { dropManagedFields } from '../../client/cache/shared-informer.ts';
import type { Client } from '../../client/client.ts';
import type { ClientOptions } from '../../client/create-client.ts';
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
} from '../../controlplane/control-plane.ts';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { objectLifetimes } from '../../controlplane/object-lifetimes.ts';
import { type CertificateSigners, openPki, type Pki } from '../../controlplane/pki.ts';
import { signJwt } from '../../crypto/jwt.ts';
import { kubeletConnection } from '../../registry/core/kubelet-connection.ts';
import { streamingStorage } from '../../registry/core/streaming-storage.ts';
import { openSqliteStorage } from '../../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { type ClosableCacheSource, createCacheSource } from '../../storage/watch/cache-source.ts';
import { createHttpServer, type HttpServer, type ServerTls } from '../../wire/http-server.ts';
import type { AuditFlags } from '../audit-options.ts';
import type { AuthenticationFlags } from './authentication-flags.ts';
import { backupHandler, backupPath } from './backup-endpoint.ts';
import { type BroughtCredentials, withBrought } from './brought-credentials.ts';
import { type AdmissionFlags, configuredAdmission } from './configured-admission.ts';
import { type ConfiguredAuthentication, configuredAuthentication } from './configured-authentication.ts';
import type { AuthorizationFlags } from './configured-authorization.ts';
import {
  checkDataDirectory,
  dataPaths,
  ownDataDirectory,
  recordContents,
  serverIdentity,
} from './data-directory.ts';
import type { Encryption } from './encryption.ts';
import { everyMachineAddress, listenAddresses, machineAddresses } from './listen-addresses.ts';
import { pkiFiles } from './pki-files.ts';
import { readCredentials, rotateServerCertificates, type ServerCredentials } from './server-certificates.ts';
import { servingNames } from './serving-names.ts';
import { defaultQuotaBytes, limitStore, quotaHealth, showStoreSize } from './store-quota.ts';
/** Something that runs beside the API server as its client: controllers, scheduler, DNS. */
export interface ServerComponent {
  readonly name: string;
  /**
   * Resolves once it works; ends when the signal aborts. The answer, if any, resolves when it has ended. Rejects when it
   * does not work and nothing of it is left: it may be started again at once.
   */
  start(context: ComponentContext): Promise<{ readonly done: Promise<void> } | undefined>;
}

export interface ComponentContext {
  /** A client in this process that acts as `user`. */
  clientFor(user: UserInfo, options?: ClientOptions): Client;
  /** This server's, among all that share a store. */
  readonly identity: string;
  /** Shared by all components; started once all of them have asked for theirs. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** PEM of what vouches for this server; a bundle may change while it runs. */
  readonly rootCa: ChangingText;
  /** Sign certificates of nodes and clients. */
  readonly signers: CertificateSigners;
  /** Signs tokens of service accounts. */
  signToken(claims: Readonly<Record<string, unknown>>): string;
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
  /** Which admission plugins look at writes. */
  readonly admission?: AdmissionFlags | undefined;
  /** Default true, as upstream. */
  readonly extendTokenExpiration?: boolean | undefined;
  /** Who may come in, besides whom the server's own keys vouch for. */
  readonly authentication?: AuthenticationFlags | undefined;
  /** What they may. */
  readonly authorization?: AuthorizationFlags | undefined;
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
  /** An EncryptionConfiguration: what lies sealed in the store. Default: nothing. */
  readonly encryptionProviderConfig?: string | undefined;
  /** It is read again when it changes. */
  readonly encryptionReload?: boolean | undefined;
  /** Default: nothing is written of requests. */
  readonly audit?: AuditFlags | undefined;
  /** How long Events live. Default an hour. */
  readonly eventTtlMs?: number | undefined;
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
  const names = servingNames({ ...cluster, sans: [...addresses, ...(options.extraSans ?? [])] });
  const identity = { names, credentials: await readCredentials(pki, names) };
  const { encryption, caches } = await openCaches(storage, options, opened);
  const { server, serve } = openDoor(options, identity, opened);
  // The port is known, and taken, before the objects that name it are written.
  let port = options.securePort;
  for (const address of listen) ({ port } = await server.listen(port, address));
  const configured = await configuredFlags(options, opened);
  const plane = await createControlPlane({
    ...planeOptions(options, { storage, pki, identity, health: encryption.health }, opened),
    ...cluster,
    audit,
    caches,
    admission: await configuredAdmission(options.admission ?? {}, clock),
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

async function openCaches(
  stored: Storage,
  options: Options,
  opened: AsyncDisposableStack,
): Promise<{ readonly encryption: Encryption; readonly caches: ClosableCacheSource }> {
  const { eventTtlMs, log } = options;
  const encryption = await unsealed(options, stored, opened);
  const caches = await createCacheSource(encryption.storage, clock, {
    onUnreadable: (key) =>
      log.error({ key }, 'a stored object is no JSON and is left out; its name stays taken'),
    lifetimes: objectLifetimes(eventTtlMs),
    onTrouble: (why) => log.warn({ why }, 'the watch of the store has ended and is begun anew'),
  });
  opened.defer(() => caches.close());
  encryption.tell(() =>
    caches.readAgain().catch((error: unknown) => log.error({ error }, 'sealed objects are not read again')),
  );
  return { encryption, caches };
}

/** Who may come in, as flags and their files say. */
async function configuredFlags(
  options: Options,
  opened: AsyncDisposableStack,
): Promise<ConfiguredAuthentication & Pick<ControlPlaneOptions, 'authorizers'>> {
  const { authentication = {}, authorization, dataDir, log, metrics } = options;
  const serverId = serverIdentity(dataDir, random);
  const { settings, stop } = await configuredAuthentication(authentication, {
    clock,
    log,
    metrics,
    authorizationModes: authorization?.authorizationMode,
    serverId,
  });
  opened.defer(stop);
  const may = await configuredAuthorizers(options, opened);
  return {
    settings,
    authorizers: may.authorizers,
    stop() {
      stop();
      may.stop();
    },
  };
}

/** What they may, as flags and their files say. */
async function configuredAuthorizers(
  { authorization = {}, dataDir, log, metrics }: Options,
  opened: AsyncDisposableStack,
): Promise<{ readonly authorizers: ControlPlaneOptions['authorizers']; stop(): void }> {
  const { authorizationConfig, authorizationMode, authorizationWebhookConfigFile } = authorization;
  if ((authorizationConfig ?? authorizationMode ?? authorizationWebhookConfigFile) === undefined)
    return { authorizers: undefined, stop() {} };
  const { configuredAuthorization } = await import('./configured-authorization.ts');
  const ends: (() => void)[] = [];
  const stop = (): void => {
    for (const end of ends.splice(0)) end();
  };
  const authorizers = await configuredAuthorization(authorization, {
    ...{ clock, log, metrics, serverId: serverIdentity(dataDir, random) },
    defer: (end) => void ends.push(end),
  });
  opened.defer(stop);
  return { authorizers, stop };
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

/** Before the first request, and until after the last one. */
async function auditOf(options: Options, opened: AsyncDisposableStack): Promise<AuditConfig | undefined> {
  const { audit: flags, log, metrics } = options;
  if ((flags?.policyFile ?? flags?.log ?? flags?.webhook) === undefined) return undefined;
  const { openAuditLog } = await import('./audit-log.ts');
  const audit = await openAuditLog(flags!, { clock, random, log, metrics });
  opened.defer(() => audit?.backend.close());
  return audit;
}

/** What the API serves is open; what is backed up is as it is stored. */
async function unsealed(
  options: Options,
  storage: Storage,
  opened: AsyncDisposableStack,
): Promise<Encryption> {
  const { encryptionProviderConfig: file, encryptionReload: reload = false, dataDir, log, metrics } = options;
  if (file === undefined) {
    if (reload)
      throw new Error(
        '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
      );
    return { storage, health: [], tell: () => {}, settled: async () => {}, stop: () => {} };
  }
  const { openEncryption } = await import('./encryption.ts');
  const serverId = serverIdentity(dataDir, random);
  const encryption = await openEncryption({ file, reload }, storage, {
    clock,
    random,
    log,
    metrics,
    serverId,
  });
  opened.defer(() => encryption.stop());
  return encryption;
}

/** Disk and keys do not wait for each other. */
async function openStoreAndKeys(
  options: ServerOptions,
  opened: AsyncDisposableStack,
  onBroken: (error: Error) => void,
): Promise<[Storage, Pki]> {
  const { log } = options;
  const paths = dataPaths(options.dataDir);
  const opening = Promise.resolve(
    options.storage ??
      openSqliteStorage({
        directory: paths.store,
        clock,
        onTrouble: (error) => {
          if (error === undefined) log.info({}, 'the store can write again');
          else log.error({ error }, 'the store cannot write');
          if (error?.code === 'Broken' || error?.code === 'Corrupt') onBroken(error);
        },
        workerUrl: options.workerUrls?.storage,
      }),
  );
  opened.defer(() => opening.then((storage) => storage.close()).catch(() => undefined));
  return Promise.all([
    opening,
    openPki(pkiFiles(paths.pki), clock, { certificateMs: options.certificateMs }).then((pki) =>
      withBrought(pki, options.brought),
    ),
  ]);
}

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
    extendTokenExpiration: options.extendTokenExpiration,
    flowControl: options.flowControl,
    readYaml: (text) => yaml.read(text),
    isMachine,
    frontProxyClient: () => identity.credentials.frontProxyClient,
    streaming: streamingStorage({
      random,
      isMachine,
      connection: kubeletConnection(() => ({
        ca: identity.credentials.kubeletServingCaPem,
        cert: identity.credentials.kubeletClient.certificatePem,
        key: identity.credentials.kubeletClient.privateKeyPem,
      })),
    }),
  };
}

interface RootCa extends ChangingText {
  changed(): void;
}

function rootCaOf(pki: Pki): RootCa {
  const listeners = new Set<() => void>();
  return {
    now: () => pki.caCertificatePem,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed: () => {
      for (const tell of listeners) tell();
    },
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
        caCertificatePem: identity.credentials.caPem,
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

/** Controllers, scheduler, DNS: clients of this server in its own process, with one set of informers. */
function startComponents(
  { components = [], dataDir, log, metrics }: Options,
  plane: ControlPlane,
  pki: Pki,
  rootCa: ChangingText,
) {
  let working = components.length === 0;
  const ending = new AbortController();
  const informers = createInformerFactory(
    { client: plane.reader, clock, random, log, metrics, name: 'porthole-server' },
    { trim: dropManagedFields },
  );
  const context: ComponentContext = {
    clientFor: plane.clientFor,
    identity: serverIdentity(dataDir, random),
    informers,
    clock,
    random,
    log,
    metrics,
    rootCa,
    signers: pki.signers,
    signToken: (claims) => signJwt(pki.serviceAccountKey, claims),
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
    ready,
    areReady: () => working,
    end: () => ending.abort(),
    ended: async () => {
      await Promise.allSettled([ready, ...running]);
      await informers.stop();
    },
  };
}

const tlsOf = ({ serving, clientCaPem }: ServerCredentials): ServerTls => ({
  key: serving.privateKeyPem,
  cert: serving.certificatePem,
  clientCa: clientCaPem,
});
