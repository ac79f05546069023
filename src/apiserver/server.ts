// The API server: filters, then resources by the generic registry, then the paths of the server itself.
import type { ResourceDeclaration, Scheme } from '../apimachinery/declaration.ts';
import { serviceUnavailable } from '../apimachinery/errors.ts';
import type { Turns } from '../base/turns.ts';
import { threadTurns } from '../component-base/thread-turns.ts';
import { admissionChain } from './admission/chain.ts';
import { auditMetrics } from './audit/audit-metrics.ts';
import type { EndpointDependencies } from './endpoints/endpoint.ts';
import { fieldTracker, patchEngines, protobufCodec } from './endpoints/engines.ts';
import { chain, filterOrder } from './filters/filter-order.ts';
import { FlowControl } from './flowcontrol/flow-control.ts';
import { flowMetrics } from './flowcontrol/flow-metrics.ts';
import { inFlight } from './flowcontrol/in-flight.ts';
import { defaultUserLimits } from './flowcontrol/user-limits.ts';
import type { HealthCheck } from './healthz.ts';
import type { ApiRequest, ApiResponse } from './http.ts';
import { LargeBodies } from './large-bodies.ts';
import { showObjectCounts } from './object-counts.ts';
import { KeptConversions } from './registry/kept-conversions.ts';
import { type RestStorage, restKey } from './registry/rest-storage.ts';
import { ResourceStore } from './registry/store.ts';
import { openCache } from './registry/stored-resource.ts';
import { RequestContext } from './request-context.ts';
import type { RequestInfo } from './request-info.ts';
import { errorResponse } from './response.ts';
import { routeResource } from './router.ts';
import type { ApiServerConfig } from './server-config.ts';
import { serverMetrics } from './server-metrics.ts';
import { servePath } from './server-paths.ts';

export interface ApiServer {
  handle(request: ApiRequest): Promise<ApiResponse>;
  /** The registry of a resource in the server's own hands: no filters, no admission. Throws when it is not served. */
  store(group: string, version: string, resource: string): ResourceStore;
  /** Of a kind that need not be served. */
  storeOf(declaration: ResourceDeclaration): ResourceStore;
  readonly scheme: Scheme;
  /** From now on /readyz says no and new requests of clients are refused; those under way may end. */
  beginShutdown(): void;
}

const noHandlers: RestStorage = new Map();
/**
 * Upstream has 600, for as many processors as it is given. Here one thread does the work: more at a time would be more
 * memory and longer waits, and no more done.
 */
const defaultSeats = 120;

export function createApiServer(config: ApiServerConfig): ApiServer {
  const stores = storesOf(config, config.restStorage ?? noHandlers, threadTurns);
  const observed = serverMetrics(config.metrics, (info) => isServed(config.scheme, info));
  showObjectCounts(config.metrics, config.scheme, stores);
  const places = new LargeBodies();
  const protobuf = protobufCodec(config.scheme);
  let closing = false;
  const serve = handlerOf(config, stores, () => closing);
  return {
    scheme: config.scheme,
    storeOf: stores,
    store: (group, version, resource) => {
      const declaration = config.scheme.resource(group, version, resource);
      if (!declaration) throw new Error(`${group}/${version}/${resource} is not served`);
      return stores(declaration);
    },
    async handle(request) {
      const context = new RequestContext(request, places, protobuf);
      if (
        closing &&
        request.user === undefined &&
        !request.url.startsWith('/readyz') &&
        !request.url.startsWith('/livez')
      )
        return errorResponse(context, serviceUnavailable('the apiserver is shutting down'));
      const start = config.clock.monotonic();
      context.startedAt = start;
      try {
        const response = await serve(context);
        observed.finished(context, response.status, config.clock.monotonic() - start);
        return response;
      } finally {
        context.end();
      }
    },
    beginShutdown: () => {
      closing = true;
    },
  };
}

type Stores = EndpointDependencies['store'];

function isServed(scheme: Scheme, { group, version, resource, subresource }: RequestInfo): boolean {
  const declaration = scheme.resource(group, version, resource);
  if (declaration === undefined) return false;
  return subresource === '' || declaration.subresources.some((s) => s.name === subresource);
}

/** What a request passes through to its answer. */
function handlerOf(
  config: ApiServerConfig,
  stores: Stores,
  isClosing: () => boolean,
): (context: RequestContext) => Promise<ApiResponse> {
  const deps = dependenciesOf(config, stores);
  const health = healthChecks(config, isClosing);
  const { aggregator } = config;
  return chain(filterOrder(filterDependencies(config, stores)), async (context) => {
    context.checkTime();
    if (aggregator?.isElsewhere(context.info) === true) return aggregator.serve(context);
    if (context.info.isResource) return routeResource(context, deps);
    return servePath(context, { config, health });
  });
}

function dependenciesOf(config: ApiServerConfig, stores: Stores): EndpointDependencies {
  return {
    scheme: config.scheme,
    clock: config.clock,
    random: config.random,
    protobuf: protobufCodec(config.scheme),
    fields: fieldTracker(config.scheme),
    rest: config.restStorage ?? noHandlers,
    authorizer: config.authorizer,
    store: stores,
    patches: patchEngines(config.scheme),
    turns: threadTurns,
    readYaml: config.readYaml ?? (async (text) => (await import('../base/yaml.ts')).readYamlBody(text)),
    now: () => config.clock.now(),
    ...(config.removedResource ? { removedResource: config.removedResource } : {}),
  };
}

function healthChecks(config: ApiServerConfig, isClosing: () => boolean): readonly HealthCheck[] {
  return [
    { name: 'ping', check: () => {} },
    { name: 'log', check: () => {} },
    ...(config.health ?? []),
    {
      name: 'shutdown',
      paths: ['readyz'],
      check: () => {
        if (isClosing()) throw new Error('process is shutting down');
      },
    },
  ];
}

function filterDependencies(config: ApiServerConfig, stores: Stores): Parameters<typeof filterOrder>[0] {
  return {
    authenticator: config.authenticator,
    authorizer: config.authorizer,
    allowAnonymous: config.allowAnonymous ?? true,
    fairness: {
      clock: config.clock,
      flow: new FlowControl({
        total: config.flowControl?.total ?? defaultSeats,
        clock: config.clock,
        metrics: flowMetrics(config.metrics),
        objects: config.flowControl?.objects,
        unusable: (kind, name) => config.log.warn({ kind, name }, 'left out: it does not say what it must'),
      }),
      limits: config.flowControl?.userLimits ?? defaultUserLimits,
      isElsewhere: (info) => config.aggregator?.isElsewhere(info) === true,
      running: inFlight(config.metrics, config.clock),
      count: ({ group, version, resource }) => {
        const declaration = config.scheme.resource(group, version, resource);
        return declaration === undefined ? 0 : stores(declaration).cache.count();
      },
    },
    clock: config.clock,
    metrics: config.metrics,
    random: config.random,
    log: config.log,
    audit: config.audit && {
      ...config.audit,
      clock: config.clock,
      metrics: auditMetrics(config.metrics),
      protobuf: protobufCodec(config.scheme),
    },
  };
}

/** One registry for each declaration; versions of a kind share their cache. CRDs come and go, so it is looked up. */
function storesOf(
  config: ApiServerConfig,
  rest: RestStorage,
  turns: Turns,
): (declaration: ResourceDeclaration) => ResourceStore {
  const admission = admissionChain(config.admission);
  const known = new WeakMap<ResourceDeclaration, ResourceStore>();
  const kept = config.conversions ?? new KeptConversions();
  return (declaration) => {
    const found = known.get(declaration);
    if (found) return found;
    const { group, version, resource } = declaration.storage;
    const storageDeclaration = config.scheme.resource(group, version, resource) ?? declaration;
    const store = new ResourceStore({
      declaration,
      storageDeclaration,
      cache: openCache(config.caches, storageDeclaration),
      clock: config.clock,
      random: config.random,
      admission,
      hooks: rest.get(restKey(declaration.group, declaration.resource))?.hooks,
      fields: fieldTracker(config.scheme),
      turns,
      kept,
      plans: config.scheme.plans,
    });
    known.set(declaration, store);
    return store;
  };
}
