// The API server: filters, then resources by the generic registry, then the paths of the server itself.
import type { ResourceDeclaration, Scheme } from '../apimachinery/declaration.ts';
import { serviceUnavailable } from '../apimachinery/errors.ts';
import { admissionChain } from './admission/chain.ts';
import type { EndpointDependencies } from './endpoints/endpoint.ts';
import { fieldTracker, patchEngines, protobufCodec } from './endpoints/engines.ts';
import { chain, filterOrder } from './filters/filter-order.ts';
import { defaultInFlight } from './filters/max-in-flight.ts';
import type { HealthCheck } from './healthz.ts';
import type { ApiRequest, ApiResponse } from './http.ts';
import { type RestStorage, restKey } from './registry/rest-storage.ts';
import { ResourceStore } from './registry/store.ts';
import { openCache } from './registry/stored-resource.ts';
import { RequestContext } from './request-context.ts';
import { errorResponse } from './response.ts';
import { routeResource } from './router.ts';
import type { ApiServerConfig } from './server-config.ts';
import { serverMetrics } from './server-metrics.ts';
import { servePath } from './server-paths.ts';

export interface ApiServer {
  handle(request: ApiRequest): Promise<ApiResponse>;
  /** The registry of a resource in the server's own hands: no filters, no admission. Throws when it is not served. */
  store(group: string, version: string, resource: string): ResourceStore;
  readonly scheme: Scheme;
  /** From now on /readyz says no and new requests of clients are refused; those under way may end. */
  beginShutdown(): void;
}

const noHandlers: RestStorage = new Map();

export function createApiServer(config: ApiServerConfig): ApiServer {
  const rest = config.restStorage ?? noHandlers;
  const observed = serverMetrics(config.metrics, ({ group, version, resource, subresource }) => {
    const declaration = config.scheme.resource(group, version, resource);
    if (declaration === undefined) return false;
    return subresource === '' || declaration.subresources.some((s) => s.name === subresource);
  });
  const stores = storesOf(config, rest);
  const deps: EndpointDependencies = {
    scheme: config.scheme,
    clock: config.clock,
    random: config.random,
    protobuf: protobufCodec(config.scheme),
    fields: fieldTracker(config.scheme),
    rest,
    store: stores,
    patches: patchEngines(config.scheme),
    now: () => config.clock.now(),
    ...(config.removedResource ? { removedResource: config.removedResource } : {}),
  };
  let closing = false;
  const health: readonly HealthCheck[] = [
    { name: 'ping', check: () => {} },
    { name: 'log', check: () => {} },
    ...(config.health ?? []),
    {
      name: 'shutdown',
      paths: ['readyz'],
      check: () => {
        if (closing) throw new Error('process is shutting down');
      },
    },
  ];
  const serve = chain(
    filterOrder({
      authenticator: config.authenticator,
      authorizer: config.authorizer,
      allowAnonymous: config.allowAnonymous ?? true,
      inFlight: config.inFlight ?? defaultInFlight,
      random: config.random,
      log: config.log,
      observeInFlight: observed.inFlight,
    }),
    async (context) => {
      if (context.info.isResource) return routeResource(context, deps);
      return servePath(context, { config, health });
    },
  );
  return {
    scheme: config.scheme,
    store: (group, version, resource) => {
      const declaration = config.scheme.resource(group, version, resource);
      if (!declaration) throw new Error(`${group}/${version}/${resource} is not served`);
      return stores(declaration);
    },
    async handle(request) {
      const context = new RequestContext(request);
      if (
        closing &&
        request.user === undefined &&
        !request.url.startsWith('/readyz') &&
        !request.url.startsWith('/livez')
      )
        return errorResponse(serviceUnavailable('the apiserver is shutting down'));
      const start = config.clock.monotonic();
      const response = await serve(context);
      observed.finished(context, response.status, config.clock.monotonic() - start);
      return response;
    },
    beginShutdown: () => {
      closing = true;
    },
  };
}

/** One registry for each declaration; versions of a kind share their cache. CRDs come and go, so it is looked up. */
function storesOf(
  config: ApiServerConfig,
  rest: RestStorage,
): (declaration: ResourceDeclaration) => ResourceStore {
  const admission = admissionChain(config.admission);
  const known = new WeakMap<ResourceDeclaration, ResourceStore>();
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
    });
    known.set(declaration, store);
    return store;
  };
}
