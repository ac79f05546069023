// Which requests are for another server, by the APIServices of the cluster: upstream's kube-aggregator.
import { apiservices } from '../../api/generated/resources.ts';
import type { APIService } from '../../api/generated/types/apiregistration-v1.ts';
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import type { RemoteVersion } from '../../apimachinery/discovery/remote-version.ts';
import { serviceUnavailable } from '../../apimachinery/errors.ts';
import { isObject, nameOf, spec } from '../../apimachinery/json-access.ts';
import type { Aggregator } from '../../apiserver/aggregator/aggregator.ts';
import type { RemoteOpenApiV2 } from '../../apiserver/aggregator/remote-openapi.ts';
import {
  availableCondition,
  groupVersionOf,
  type RemoteService,
  remoteServices,
} from '../../apiserver/aggregator/remote-service.ts';
import type { ApiResponse } from '../../apiserver/http.ts';
import type { WriteHooks } from '../../apiserver/registry/write-hooks.ts';
import type { RequestContext } from '../../apiserver/request-context.ts';
import type { RequestInfo } from '../../apiserver/request-info.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import type { CounterMetric, MetricsRegistry } from '../../component-base/metrics.ts';
import { recordedApiServices } from '../bootstrap-objects.ts';
import { followCache } from '../follow-cache.ts';
import { customService, LocalApiServices, type LocalService } from './local-api-services.ts';
import type { RemoteServers, RemoteServersDeps } from './remote-servers.ts';

export interface AggregationDeps extends Omit<RemoteServersDeps, 'api' | 'lost' | 'documentsChanged'> {
  readonly api: () => ApiServer;
  /** With what clients define. */
  readonly scheme: Scheme;
  /** Without. */
  readonly builtIn: Scheme;
  readonly metrics: MetricsRegistry;
}

const none: ReadonlyMap<string, RemoteService> = new Map();
const noVersions: readonly RemoteVersion[] = [];
const openApiRoot = '/openapi/v3/';

export class Aggregation implements Aggregator {
  readonly #deps: AggregationDeps;
  readonly #builtIn: ReadonlySet<string>;
  readonly #unavailable: CounterMetric;
  #table: ReadonlyMap<string, RemoteService> = none;
  #servers: RemoteServers | undefined;
  #loading: Promise<void> | undefined;
  #local: LocalApiServices | undefined;
  #stop: () => void = () => {};
  #isClosed = false;
  #versions: readonly RemoteVersion[] | undefined = noVersions;

  constructor(deps: AggregationDeps) {
    this.#deps = deps;
    const others = new Set(notRecorded.filter(({ stepsAside }) => stepsAside).map(({ name }) => name));
    this.#builtIn = new Set(
      deps.builtIn
        .resources()
        .filter((d) => !others.has(`${d.version}.${d.group}`))
        .map((d) => groupVersionOf(d.group, d.version)),
    );
    this.#unavailable = countUnavailable(deps);
  }

  /** From now on it follows the APIServices. Resolves when what is stored of them is routed. */
  async start(): Promise<void> {
    const { api, live, scheme, clock, log } = this.#deps;
    const store = api().store(apiservices.group, apiservices.version, apiservices.resource);
    const wanted = localServices(scheme);
    this.#local = new LocalApiServices({ store, live, wanted, clock, log });
    this.#stop = followCache(store.cache, () => this.#look());
    this.#look();
    await this.#loading;
  }

  /** Who creates an APIService for another server need not delete the one that stands for what is served here meanwhile. */
  get hooks(): WriteHooks {
    return {
      beforeCreate: async (object, { dryRun }) => {
        if (!dryRun && isObject(spec(object)['service'])) await this.#local?.stepAside(nameOf(object));
        return undefined;
      },
    };
  }

  /** Kinds came or went. */
  kindsChanged(): void {
    this.#local?.look();
  }

  isElsewhere(info: RequestInfo): boolean {
    return this.#table.size > 0 && this.#remoteFor(info) !== undefined;
  }

  async serve(context: RequestContext): Promise<ApiResponse> {
    const remote = this.#remoteFor(context.info);
    await this.#loading;
    if (remote === undefined || this.#servers === undefined)
      throw serviceUnavailable('the APIService is gone');
    return this.#servers.forward(context, remote);
  }

  versions(): readonly RemoteVersion[] {
    this.#versions ??= this.#servers?.versions() ?? noVersions;
    return this.#versions;
  }

  openApiV3(): ReadonlyMap<string, string> {
    return this.#servers?.openApiV3() ?? new Map();
  }

  convertedV3(path: string): ReturnType<Aggregator['convertedV3']> {
    return this.#servers?.convertedV3(path);
  }

  openApiV2(): readonly RemoteOpenApiV2[] {
    return this.#servers?.openApiV2() ?? [];
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    this.#local?.close();
    this.#servers?.close();
  }

  #remoteFor({ isResource, group, version, path }: RequestInfo): RemoteService | undefined {
    if (isResource) return group === '' ? undefined : this.#table.get(groupVersionOf(group, version));
    const isDescription = path.startsWith(openApiRoot);
    const below = isDescription ? path.slice(openApiRoot.length) : path.replace(/^\/+/, '');
    // What its server can't tell is told here.
    if (isDescription && this.convertedV3(below) !== undefined) return undefined;
    const [root, pathGroup = '', pathVersion = '', ...rest] = below.split('/', 5);
    if (root !== 'apis' || rest.some((part) => part !== '')) return undefined;
    return this.#table.get(groupVersionOf(pathGroup, pathVersion));
  }

  #look(): void {
    const { live, log } = this.#deps;
    this.#table = remoteServices(live.list(apiservices), (group, version) =>
      this.#builtIn.has(groupVersionOf(group, version)),
    );
    this.#local?.look();
    if (this.#servers !== undefined) this.#tell(this.#servers);
    else if (this.#table.size > 0) {
      this.#loading ??= this.#load();
      this.#loading.catch((error: unknown) => log.error({ error }, 'other API servers can not be asked'));
    }
  }

  async #load(): Promise<void> {
    const { RemoteServers: Servers } = await import('./remote-servers.ts');
    if (this.#isClosed) return;
    this.#servers = new Servers({
      ...this.#deps,
      api: this.#deps.api(),
      lost: (name, reason) => this.#unavailable.inc({ name, reason }),
      documentsChanged: () => {
        this.#versions = undefined;
      },
    });
    this.#tell(this.#servers);
  }

  #tell(servers: RemoteServers): void {
    servers.set([...this.#table.values()]);
    this.#versions = undefined;
  }
}

function countUnavailable({ metrics, live }: AggregationDeps): CounterMetric {
  metrics.readGauge(
    'aggregator_unavailable_apiservice',
    'Gauge of APIServices which are marked as unavailable broken down by APIService name.',
    ['name'],
    () =>
      live
        .list(apiservices)
        .map((one) => [{ name: one.metadata.name ?? '' }, isAvailable(one) ? 0 : 1] as const),
  );
  return metrics.counter(
    'aggregator_unavailable_apiservice_total',
    'Counter of APIServices which are marked as unavailable broken down by APIService name and reason.',
    ['name', 'reason'],
  );
}

const isAvailable = (apiService: APIService): boolean =>
  availableCondition(apiService as unknown as JsonObject)?.['status'] === 'True';

/** So that a chart's release may have it as its own, where Helm would refuse what it has not made. */
const adoptable = (release: string, namespace: string): NonNullable<LocalService['metadata']> => ({
  labels: { 'app.kubernetes.io/managed-by': 'Helm' },
  annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': namespace },
});

/** Versions that no recording of kube-apiserver has: off by themselves there, or metrics-server's; with upstream's priorities. */
const notRecorded: readonly LocalService[] = [
  {
    name: 'v1beta1.storagemigration.k8s.io',
    managed: 'onstart',
    spec: {
      group: 'storagemigration.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 15_800,
      versionPriority: 9,
    },
  },
  {
    name: 'v1beta1.metrics.k8s.io',
    managed: 'onstart',
    stepsAside: true,
    metadata: adoptable('metrics-server', 'kube-system'),
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
    },
  },
];

/** Those that are built in, and one for each version that definitions add; made anew when kinds came or went. */
function localServices(scheme: Scheme): () => ReadonlyMap<string, LocalService> {
  const builtIn = recordedApiServices().map(
    (object): LocalService => ({ name: nameOf(object), managed: 'onstart', spec: spec(object) }),
  );
  const served = new Set(scheme.resources().map(({ group, version }) => `${version}.${group}`));
  builtIn.push(...notRecorded.filter(({ name }) => served.has(name)));
  let known: readonly ResourceDeclaration[] | undefined;
  let services: ReadonlyMap<string, LocalService> = new Map();
  return () => {
    const resources = scheme.resources();
    if (resources === known) return services;
    known = resources;
    const all = new Map<string, LocalService>();
    for (const { group, version, custom } of resources)
      if (custom === true && !all.has(`${version}.${group}`))
        all.set(`${version}.${group}`, customService(group, version));
    for (const own of builtIn) all.set(own.name, own);
    services = all;
    return services;
  };
}
