// One API server out of all the lists: authentication, authorization, admission, registry and the first objects.
import {
  apiservices,
  flowschemas,
  namespaces,
  prioritylevelconfigurations,
  storageversionmigrations,
} from '../api/generated/resources.ts';
import { removedGroupVersions, removedResource } from '../api/removed-versions.ts';
import type { Scheme } from '../apimachinery/declaration.ts';
import type { AdmissionPlugin } from '../apiserver/admission/admission.ts';
import { PolicyMatcher } from '../apiserver/admission/policy/policy-match.ts';
import { type ExtensibleScheme, extensibleScheme } from '../apiserver/apiextensions/extensible-scheme.ts';
import type { UserInfo } from '../apiserver/authentication/authenticator.ts';
import type { Authorizer } from '../apiserver/authorization/authorizer.ts';
import type { HealthCheck } from '../apiserver/healthz.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import { createLiveObjects } from '../apiserver/registry/cached-live-objects.ts';
import { KeptConversions } from '../apiserver/registry/kept-conversions.ts';
import { type RestHandler, type RestStorage, restKey } from '../apiserver/registry/rest-storage.ts';
import { type ApiServer, createApiServer } from '../apiserver/server.ts';
import type { AuditConfig, FlowControlConfig, PathHandler } from '../apiserver/server-config.ts';
import { type Clock, rfc3339 } from '../base/clock.ts';
import { formatIp, hostPort, ipAt, parseCidr } from '../base/ip.ts';
import { type PortRange, usualNodePorts } from '../base/port-range.ts';
import type { Random } from '../base/random.ts';
import type { YamlBody } from '../base/yaml.ts';
import type { Client } from '../client/client.ts';
import { type ClientMetrics, clientMetrics } from '../client/client-metrics.ts';
import { type ClientOptions, createClient } from '../client/create-client.ts';
import { createEventRecorder } from '../client/event-recorder.ts';
import { inProcessTransport } from '../client/transport-in-process.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { version } from '../component-base/version.ts';
import type { KeyPairPem } from '../crypto/certificates.ts';
import { signJwt } from '../crypto/jwt.ts';
import type { KeyObject } from '../crypto/keys.ts';
import { type AdmissionChoice, admissionPlugins } from '../plugins/admission/registry.ts';
import { legacyTokenCounts } from '../plugins/authentication/tokens/legacy-token-metrics.ts';
import { createEscalationCheck } from '../plugins/authorization/rbac/escalation.ts';
import { createRuleResolver } from '../plugins/authorization/rbac/rule-resolver.ts';
import type { ComponentHealth } from '../registry/core/component-status.ts';
import { reservationCache, StoredReservations } from '../registry/core/quota-reservations.ts';
import { repairClaims } from '../registry/core/repair-claims.ts';
import { type ServiceClaims, serviceClaims } from '../registry/core/service-claims.ts';
import type { KubeletReader } from '../registry/metrics/read-kubelet.ts';
import { restStorage } from '../registry/rest-storage.ts';
import type { CacheSource } from '../storage/watch/resource-cache.ts';
import { Aggregation, type AggregationDeps } from './aggregation/aggregation.ts';
import {
  type AuthenticationSettings,
  authentication,
  jwksPath,
  type RequestHeaders,
  requestHeadersOf,
  serviceAccountIssuerPaths,
  type TokenIdentity,
  tokenIdentity,
} from './authentication.ts';
import { authenticationMap, defaultServiceCidr, ownObjects, recordedObjects } from './bootstrap-objects.ts';
import { type BootstrapDeps, ensureBootstrap } from './ensure-bootstrap.ts';
import { keepFlowSchemaConditions } from './flow-schema-conditions.ts';
import { authorization, type OwnAuthorizers, type RuleResolver } from './own-authorizers.ts';
import { withOwnWatches } from './own-watches.ts';
import { noteTokenUse, quotaRecorder } from './own-writes.ts';
import { keepPolicyTypeChecks } from './policy-type-checks.ts';
import { measuredUsage } from './usage/measured-usage.ts';
import { admissionWebhooks, customResourcesOf, endpointsOf } from './webhook-parts.ts';

export interface ControlPlaneOptions {
  readonly scheme: Scheme;
  readonly caches: CacheSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** Signs service account tokens. */
  readonly serviceAccountKey: KeyObject;
  readonly authentication?: AuthenticationSettings | undefined;
  /** Who is asked whether somebody may, in order. Default: Node, then RBAC. */
  readonly authorizers?: ((own: OwnAuthorizers) => readonly Authorizer[]) | undefined;
  readonly authorities: ClientAuthorities;
  readonly serviceCidr: string;
  /** Default: 30000 to 32767. */
  readonly nodePorts?: PortRange | undefined;
  readonly clusterDomain: string;
  /** Where nodes and pods reach this server. */
  readonly advertiseAddress: string;
  readonly securePort: number;
  /** Default true, as upstream: tokens of pods live for a year, for clients that never read them again. */
  readonly extendTokenExpiration?: boolean | undefined;
  /** The certificate controller may approve kubelets' serving certificates. */
  readonly approveKubeletServing?: boolean | undefined;
  /** With which this server proves to other API servers that it is the front proxy, as it is now. Default: with nothing. */
  readonly frontProxyClient?: (() => KeyPairPem | undefined) | undefined;
  /** Addresses of this machine, where webhooks behind Services are not looked for. Default: none is. */
  readonly isMachine?: ((ip: string) => boolean) | undefined;
  /** exec, log, attach, portforward, proxy. */
  readonly streaming?: RestStorage | undefined;
  /** Default: what pods use is known of simulated ones only. */
  readonly kubelets?: KubeletReader | undefined;
  /** More paths, for handlers that ask for more than a right to their path. */
  readonly paths?: ((authorizer: Authorizer) => ReadonlyMap<string, PathHandler>) | undefined;
  readonly health?: readonly HealthCheck[] | undefined;
  readonly componentHealth?: ComponentHealth | undefined;
  /** Which admission plugins look at writes, and what they are told. */
  readonly admission?: AdmissionChoice | undefined;
  /** Default: nothing is written of requests. */
  readonly audit?: AuditConfig | undefined;
  /** Seats of all priority levels, and what one user may have under way. */
  readonly flowControl?: Omit<FlowControlConfig, 'objects'> | undefined;
  /** The first document of a YAML text as JSON. Default: read at once. */
  readonly readYaml?: ((text: string) => Promise<YamlBody>) | undefined;
}

/** PEM bundles that vouch for clients, as they are now. */
export interface ClientAuthorities {
  clientCa(): string;
  frontProxyCa(): string;
}

export interface ControlPlane {
  readonly api: ApiServer;
  readonly handle: ApiServer['handle'];
  readonly live: LiveObjects;
  /** A client in this process that acts as `user`: the same filters, authorization and admission, no socket. */
  clientFor(user: UserInfo, options?: ClientOptions): Client;
  /** What all components of this process share: it reads everything, and sees writes as they were. */
  readonly reader: Client;
  readonly bootstrapped: { readonly created: number; readonly repaired: number };
  /**
   * Looks whether the cluster's own ServiceCIDR is there, and whether what is recorded of cluster IPs, node ports and quota
   * is true; to be asked now and then.
   */
  repair(): Promise<void>;
  /** Tells extension API servers whom to believe, if they were told otherwise. */
  publishAuthorities(): Promise<void>;
  /** Ends what it follows by itself; before the caches are closed. */
  close(): void;
}

/** What extension API servers read of this server: whom to believe. */
const extensionAuthentication = (
  authorities: ClientAuthorities,
  requestHeaders: RequestHeaders,
): Record<string, string> => ({
  'client-ca-file': authorities.clientCa(),
  'requestheader-allowed-names': JSON.stringify(requestHeaders.allowedNames),
  'requestheader-client-ca-file': authorities.frontProxyCa(),
  'requestheader-extra-headers-prefix': JSON.stringify(requestHeaders.extraHeadersPrefixes),
  'requestheader-group-headers': JSON.stringify(requestHeaders.groupHeaders),
  'requestheader-uid-headers': JSON.stringify(requestHeaders.uidHeaders),
  'requestheader-username-headers': JSON.stringify(requestHeaders.usernameHeaders),
});

/** The server's own identity, as upstream's loopback client. */
export const loopbackUser: UserInfo = {
  name: 'system:apiserver',
  groups: ['system:masters', 'system:authenticated'],
};

const settingsOf = (options: ControlPlaneOptions): AuthenticationSettings => options.authentication ?? {};

function authenticationOf(options: ControlPlaneOptions, live: LiveObjects, api: () => ApiServer) {
  const { authorities, clock, clusterDomain, log, metrics, serviceAccountKey } = options;
  const settings = settingsOf(options);
  const own = `https://kubernetes.default.svc.${clusterDomain}`;
  const identity = tokenIdentity(settings, serviceAccountKey, own);
  const legacy = { counts: legacyTokenCounts(metrics), noteUse: noteTokenUse(api, log) };
  return { identity, ...authentication({ settings, identity, authorities, live, clock, legacy }) };
}

const extensionMap = (options: ControlPlaneOptions) =>
  authenticationMap(extensionAuthentication(options.authorities, requestHeadersOf(settingsOf(options))));

function tokensAndHealth(options: ControlPlaneOptions, { issuers, apiAudiences }: TokenIdentity) {
  const healthy = { healthy: true, message: 'ok' };
  return {
    signer: {
      issuer: issuers[0]!,
      audiences: apiAudiences,
      maxExpirationSeconds: settingsOf(options).maxTokenExpirationSeconds,
      extendExpiration: options.extendTokenExpiration ?? true,
      sign: (claims: Parameters<typeof signJwt>[1]) =>
        settingsOf(options).externalSigner?.sign(claims) ?? signJwt(options.serviceAccountKey, claims),
    },
    componentHealth:
      options.componentHealth ??
      (() => ({ 'controller-manager': healthy, scheduler: healthy, 'etcd-0': healthy })),
  };
}

type RestParts = Pick<Parameters<typeof restStorage>[0], 'scheme' | 'live' | 'authorizer' | 'tokens'>;
type MeasuredUsage = ReturnType<typeof measuredUsage>;

function restOf(
  options: ControlPlaneOptions,
  {
    claims,
    identity,
    usage,
    aggregator,
    ...parts
  }: RestParts & {
    readonly claims: ServiceClaims;
    readonly identity: TokenIdentity;
    readonly usage: MeasuredUsage;
    readonly aggregator: Aggregation;
  },
): Map<string, RestHandler> {
  const { random, log } = options;
  const services = {
    live: parts.live,
    random,
    log,
    portRange: options.nodePorts ?? usualNodePorts,
    ...claims,
  };
  return new Map(
    restStorage(
      { ...parts, random, services, ...tokensAndHealth(options, identity) },
      new Map([
        ...usage.storage,
        [restKey(apiservices.group, apiservices.resource), { hooks: aggregator.hooks }],
        ...(options.streaming ?? []),
      ]),
    ),
  );
}

const flowControlOf = (
  { flowControl }: ControlPlaneOptions,
  live: LiveObjects,
): NonNullable<Parameters<typeof createApiServer>[0]['flowControl']> => ({
  ...flowControl,
  objects: {
    version: () => live.version(flowschemas) + live.version(prioritylevelconfigurations),
    schemas: () => live.list(flowschemas),
    levels: () => live.list(prioritylevelconfigurations),
  },
});

/** What is written of requests, and how they share the server. */
const requestRules = (
  options: ControlPlaneOptions,
  live: LiveObjects,
): Pick<Parameters<typeof createApiServer>[0], 'audit' | 'flowControl'> => ({
  audit: options.audit,
  flowControl: flowControlOf(options, live),
});

const admissionOf = async (
  { admission, clock, log, metrics, random }: ControlPlaneOptions,
  who: {
    live: LiveObjects;
    scheme: Scheme;
    authorizer: Authorizer;
    resolver: RuleResolver;
    reservations: StoredReservations;
    webhooks: ReturnType<typeof admissionWebhooks>;
    conversions: KeptConversions;
  },
  api: () => ApiServer,
): Promise<AdmissionPlugin[]> => [
  ...(await admissionPlugins(
    {
      ...who,
      clock,
      random,
      metrics,
      recordQuota: quotaRecorder(api, log),
      policies: {
        matcher: new PolicyMatcher({ ...who, matcher: who.webhooks.matcher, clock }),
        scheme: who.scheme,
        authorizer: who.authorizer,
        clock,
        metrics,
      },
      createNamespace: (namespace) =>
        createClient(inProcessTransport((request) => api().handle(request), loopbackUser)).create(
          namespaces,
          namespace as never,
        ),
    },
    admission,
  )),
  createEscalationCheck(who),
];

const lower = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase());

function aggregationOf(
  options: ControlPlaneOptions,
  deps: Pick<AggregationDeps, 'live' | 'scheme' | 'resolve' | 'api'>,
): Aggregation {
  const { clock, log, metrics, scheme: builtIn, frontProxyClient = () => undefined } = options;
  const own = requestHeadersOf(settingsOf(options));
  return new Aggregation({
    ...deps,
    builtIn,
    clock,
    log,
    metrics,
    credentials: frontProxyClient,
    frontProxy: {
      names: lower([...own.usernameHeaders, ...own.uidHeaders, ...own.groupHeaders]),
      prefixes: lower(own.extraHeadersPrefixes),
    },
  });
}

/** What is there before anybody asks. */
function firstObjects(options: ControlPlaneOptions): Parameters<typeof ensureBootstrap>[1] {
  const now = rfc3339(options.clock.now());
  const { serviceCidr } = options;
  return [
    ...recordedObjects(now),
    ...ownObjects({
      now,
      serviceCidr,
      kubernetesServiceIp: firstAddressOf(serviceCidr),
      advertiseAddress: options.advertiseAddress,
      securePort: options.securePort,
      approveKubeletServing: options.approveKubeletServing ?? false,
      storageVersionMigrator: options.scheme.kind(storageversionmigrations) !== undefined,
    }),
    extensionMap(options),
  ];
}

function recordRepair(
  options: ControlPlaneOptions,
  stored: BootstrapDeps,
  {
    live,
    claims,
    client,
    reservations,
  }: {
    live: LiveObjects;
    claims: ServiceClaims;
    client: Client;
    reservations: StoredReservations;
  },
): () => Promise<void> {
  const { clock, log } = options;
  const events = createEventRecorder({ client, clock, log }, { component: 'ipallocator-repair-controller' });
  return async () => {
    await ensureBootstrap(stored, [defaultServiceCidr({ ...options, now: rfc3339(clock.now()) })]);
    await repairClaims({ live, clock, log, events, ...claims });
    await reservations.tidy();
  };
}

const clientsOf =
  ({ handle }: ApiServer, metrics: ClientMetrics): ControlPlane['clientFor'] =>
  (user, how) =>
    createClient(inProcessTransport(handle, user), { metrics, ...how });

/** As the scheme's own; `changed` is called after it. */
const telling =
  (scheme: ExtensibleScheme, changed: () => void): ExtensibleScheme['setCustomKinds'] =>
  (definition, kinds) => {
    scheme.setCustomKinds(definition, kinds);
    changed();
  };

export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { caches, clock, random, log, advertiseAddress, securePort } = options;
  const ownHost = hostPort(advertiseAddress, securePort);
  const scheme = extensibleScheme(options.scheme);
  const live = createLiveObjects(scheme, caches);
  const { tokens, authenticator, identity } = authenticationOf(options, live, () => api);
  const resolver = createRuleResolver(live);
  const authorizer = authorization(options, live, resolver);
  const claims = serviceClaims({ scheme, caches, clock, random });
  const reservations = new StoredReservations({ cache: reservationCache(caches), live, clock });
  const resolve = endpointsOf(options, live);
  const webhooks = admissionWebhooks(options, { live, scheme, authorizer, resolve });
  const aggregator = aggregationOf(options, { live, scheme, resolve, api: () => api });
  const usage = measuredUsage(options, live);
  const rest = restOf(options, { scheme, live, authorizer, tokens, claims, identity, usage, aggregator });
  const conversions = new KeptConversions();
  const who = { live, scheme, authorizer, resolver, reservations, webhooks, conversions };
  const admission = await admissionOf(options, who, () => api);
  const api: ApiServer = createApiServer({
    scheme,
    caches,
    clock,
    random,
    log,
    metrics: options.metrics,
    readYaml: options.readYaml,
    authenticator,
    authorizer,
    admission,
    restStorage: rest,
    health: options.health ?? [],
    paths: new Map([
      ...serviceAccountIssuerPaths(identity, settingsOf(options).jwksUri ?? `https://${ownHost}${jwksPath}`),
      ...(options.paths?.(authorizer) ?? []),
    ]),
    version,
    serverAddress: () => ownHost,
    allowAnonymous: false,
    aggregator,
    removedResource,
    removedGroupVersions,
    conversions,
    ...requestRules(options, live),
  });

  const stored = { scheme, caches, clock, random };
  const bootstrapped = await ensureBootstrap(stored, firstObjects(options));
  const clientFor = clientsOf(api, clientMetrics(options.metrics, clock, ownHost));
  const client = clientFor(loopbackUser);
  const repair = recordRepair(options, stored, { live, claims, client, reservations });
  await repair();
  const statuses = keepStatuses({ api, live, scheme, clock, log });
  const told = { ...scheme, setCustomKinds: telling(scheme, () => aggregator.kindsChanged()) };
  const customResources = await customResourcesOf(options, live, { api, scheme: told, rest });
  await aggregator.start();

  return {
    api,
    handle: (request) => api.handle(request),
    live,
    clientFor,
    reader: withOwnWatches(client, stored),
    bootstrapped,
    repair,
    publishAuthorities: async () => void (await ensureBootstrap(stored, [extensionMap(options)])),
    close: () => {
      for (const kept of [customResources, aggregator, webhooks, statuses, usage]) kept.close();
    },
  };
}

/** What the server itself says of objects that are for it. The result ends it. */
function keepStatuses(
  kept: Parameters<typeof keepFlowSchemaConditions>[0] & Parameters<typeof keepPolicyTypeChecks>[0],
): { close(): void } {
  const ends = [keepFlowSchemaConditions(kept), keepPolicyTypeChecks(kept)];
  return {
    close() {
      for (const end of ends) end();
    },
  };
}

/** The address of the Service `kubernetes`. */
export function firstAddressOf(cidr: string): string {
  const parsed = parseCidr(cidr);
  if (parsed?.family !== 4) throw new Error(`service CIDR ${JSON.stringify(cidr)} is not an IPv4 prefix`);
  return formatIp(ipAt(parsed, 1)!);
}
