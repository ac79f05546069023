// kube-proxy: watches Services and EndpointSlices and keeps this node's packet filter in step.
import {
  endpointslices,
  nodes as nodesResource,
  services as servicesResource,
} from '../api/generated/resources.ts';
import type { Node, Service } from '../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../api/generated/types/discovery-v1.ts';
import type { Clock } from '../base/clock.ts';
import { type Cidr, parseCidr } from '../base/ip.ts';
import type { Steps } from '../base/turns.ts';
import type { Informer, InformerFactory } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { FlowSelector } from '../os/packet-filter.ts';
import { flowsPast, staleFlows } from './conntrack-cleanup.ts';
import { desiredRules } from './desired-rules.ts';
import { ElementBudget } from './element-budget.ts';
import type { NodeView } from './endpoint-selection.ts';
import { createHealthChecks, type HealthChecks } from './health-check-server.ts';
import { HeldRules } from './held-rules.ts';
import { inStepsBy } from './pace.ts';
import type { InSteps, ProxyBackend, RuleChange } from './proxy-backend.ts';
import type { ServiceRules } from './rule-set.ts';

export interface ProxyOptions {
  readonly informers: Pick<InformerFactory, 'informer'>;
  readonly nodeName: string;
  /** Traffic from here to a ClusterIP keeps its source address. */
  readonly clusterCIDR: string;
  /** Prefixes, beside the pods', that no external address of a Service may be of: ClusterIPs, the API server, resolvers. */
  readonly reservedCIDRs: readonly string[];
  readonly backend: ProxyBackend;
  readonly clock: Clock;
  readonly log: Logger;
  /** Changes within this time become one transaction. Default 10. */
  readonly batchMs?: number;
  /** All rules are written anew this often, in case something else changed them. Default 3,600,000. */
  readonly resyncMs?: number;
}

export interface Proxy {
  /** Resolves when all rules were written for the first time. */
  ready(): Promise<void>;
  /** In place of `reservedCIDRs`. */
  reserve(cidrs: readonly string[]): void;
  stop(): Promise<void>;
}

const retryMs = 1000;
const zoneOf = (node: Node | undefined): string | undefined =>
  node?.metadata.labels?.['topology.kubernetes.io/zone'] || undefined;
const serviceOf = (slice: EndpointSlice): string | undefined => {
  const name = slice.metadata.labels?.['kubernetes.io/service-name'];
  return name === undefined || name === '' ? undefined : `${slice.metadata.namespace}/${name}`;
};
const keyOf = (service: Service): string => `${service.metadata.namespace}/${service.metadata.name}`;

const prefixes = (clusterCIDR: string, reserved: readonly string[]): Cidr[] =>
  [clusterCIDR, ...reserved].flatMap((cidr) => parseCidr(cidr) ?? []);

class Proxier implements Proxy {
  readonly #options: ProxyOptions;
  #node: NodeView;
  readonly #inSteps: InSteps;
  readonly #health: HealthChecks;
  readonly #nodes: Informer<Node>;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #slicesOf = new Map<string, Map<string, EndpointSlice>>();
  readonly #rules = new HeldRules();
  /** Services of which something is missing. */
  readonly #cut = new Set<string>();
  readonly #budget = new ElementBudget();
  readonly #dirty = new Set<string>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #stopped = new AbortController();
  readonly #removeHandlers: (() => void)[];
  /** All rules are to be written, whatever has changed: at the beginning, after an error, when somebody took them, and by the clock. */
  #isWholeDue = true;
  /** Flows that end once what makes them wrong is written, however often that is tried. */
  readonly #stale: FlowSelector[] = [];
  #cancelTimer: (() => void) | undefined;
  #cancelResync: (() => void) | undefined;
  /** From the beginning: what informers know already when handlers are added is the first run's, not one beside it. */
  #running: Promise<void> | undefined = Promise.resolve();

  constructor(options: ProxyOptions) {
    this.#options = options;
    const reserved = prefixes(options.clusterCIDR, options.reservedCIDRs);
    this.#node = { name: options.nodeName, zone: undefined, reserved };
    this.#inSteps = inStepsBy(options.clock);
    this.#health = createHealthChecks(options);
    this.#nodes = options.informers.informer(nodesResource);
    this.#services = options.informers.informer(servicesResource);
    this.#slices = options.informers.informer(endpointslices);
    this.#removeHandlers = [
      this.#nodes.addHandler({
        added: (node) => this.#see(node),
        updated: (_, node) => this.#see(node),
      }),
      this.#services.addHandler({
        added: (service) => this.#touch(keyOf(service)),
        updated: (_, service) => this.#touch(keyOf(service)),
        deleted: (service) => this.#touch(keyOf(service)),
      }),
      this.#slices.addHandler({
        added: (slice) => this.#putSlice(slice),
        updated: (old, slice) => {
          if (serviceOf(old) !== serviceOf(slice)) this.#removeSlice(old);
          this.#putSlice(slice);
        },
        deleted: (slice) => this.#removeSlice(slice),
      }),
      options.backend.keep(() => this.#writeAnew()),
    ];
    this.#running = this.#first();
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  reserve(cidrs: readonly string[]): void {
    this.#node = { ...this.#node, reserved: prefixes(this.#options.clusterCIDR, cidrs) };
    for (const service of this.#services.lister.list()) this.#touch(keyOf(service));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const remove of this.#removeHandlers) remove();
    this.#cancelTimer?.();
    this.#cancelResync?.();
    await this.#running;
    await this.#health.stop();
  }

  /** Hints are for zones: a node that moves to another one has other endpoints. */
  #see(node: Node): void {
    const { name, reserved } = this.#node;
    const zone = zoneOf(node);
    if (node.metadata.name !== name || zone === this.#node.zone) return;
    this.#node = { name, zone, reserved };
    for (const service of this.#slicesOf.keys()) this.#touch(service);
  }

  #putSlice(slice: EndpointSlice): void {
    const service = serviceOf(slice);
    if (service === undefined) return;
    const slices = this.#slicesOf.get(service) ?? new Map<string, EndpointSlice>();
    this.#slicesOf.set(service, slices.set(slice.metadata.name ?? '', slice));
    this.#touch(service);
  }

  #removeSlice(slice: EndpointSlice): void {
    const service = serviceOf(slice);
    if (service === undefined) return;
    const slices = this.#slicesOf.get(service);
    slices?.delete(slice.metadata.name ?? '');
    if (slices?.size === 0) this.#slicesOf.delete(service);
    this.#touch(service);
  }

  #touch(service: string): void {
    this.#dirty.add(service);
    this.#schedule(this.#options.batchMs ?? 10);
  }

  #schedule(ms: number): void {
    if (this.#stopped.signal.aborted || this.#running !== undefined || this.#cancelTimer !== undefined)
      return;
    this.#cancelTimer = this.#options.clock.timer(ms, () => {
      this.#cancelTimer = undefined;
      this.#running = this.#run();
    });
  }

  /** A partial table would refuse connections that should work: wait for all lists. */
  async #first(): Promise<void> {
    const { signal } = this.#stopped;
    try {
      await Promise.all([this.#nodes, this.#services, this.#slices].map((one) => one.synced(signal)));
    } catch (error) {
      if (!signal.aborted) this.#options.log.error({ error }, 'nodes and services could not be listed');
    }
    if (!signal.aborted) await this.#run();
    this.#running = undefined;
  }

  async #run(): Promise<void> {
    const { batchMs = 10, log } = this.#options;
    const changes = await this.#inSteps(this.#recompute());
    let delay = batchMs;
    try {
      await this.#write(changes);
      this.#ready.resolve();
      await this.#forget(this.#stale.splice(0));
    } catch (error) {
      delay = retryMs;
      log.error({ error }, 'service rules could not be written; trying again');
    }
    this.#running = undefined;
    // asked of what is due, not of who asked: that all are to be written may have been said meanwhile
    if (this.#dirty.size > 0 || this.#isWholeDue) this.#schedule(delay);
  }

  async #write(changes: readonly RuleChange[]): Promise<void> {
    const { backend, log } = this.#options;
    if (!this.#isWholeDue) {
      try {
        if (changes.length > 0) await backend.change(changes);
        return;
      } catch (error) {
        this.#isWholeDue = true;
        log.warn({ error }, 'a change of service rules was refused; writing all of them anew');
      }
    }
    await backend.replace(this.#rules.all());
    this.#isWholeDue = false;
    this.#scheduleResync();
  }

  /** Somebody took them: flows that began meanwhile went past their Service, and UDP's would go on to. */
  async #writeAnew(): Promise<void> {
    while (this.#running !== undefined) await this.#running; // what it changes may be gone
    if (this.#stopped.signal.aborted) return;
    this.#isWholeDue = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#running = this.#run();
    await this.#running;
    if (this.#isWholeDue) throw new Error('service rules could not be written');
    await this.#forget(await this.#inSteps(this.#allFlowsPast()));
  }

  *#allFlowsPast(): Steps<FlowSelector[]> {
    const flows: FlowSelector[] = [];
    for (const rules of this.#rules.all()) for (const flow of yield* flowsPast(rules)) flows.push(flow);
    return flows;
  }

  *#recompute(): Steps<readonly RuleChange[]> {
    const touched = new Set(this.#dirty);
    this.#dirty.clear();
    for (const key of touched) {
      yield;
      const slash = key.indexOf('/');
      const service = this.#services.lister.get(key.slice(slash + 1), key.slice(0, slash));
      const slices = [...(this.#slicesOf.get(key)?.values() ?? [])];
      const wanted = service === undefined ? undefined : yield* desiredRules(service, slices, this.#node);
      const now = this.#budget.admit(key, wanted);
      for (const waiting of this.#budget.fittingBeside(key)) {
        touched.delete(waiting); // one that has been looked at already is to be looked at again
        touched.add(waiting);
      }
      this.#sayCut(key, now);
      this.#rules.want(key, now);
      this.#health.set(key, service, now);
    }
    const changes = yield* this.#rules.changes();
    for (const { before, after } of changes)
      for (const flow of yield* staleFlows(before, after)) this.#stale.push(flow);
    return changes;
  }

  #sayCut(service: string, now: ServiceRules | undefined): void {
    if (now?.isCut !== true) {
      this.#cut.delete(service);
      return;
    }
    if (this.#cut.has(service)) return;
    this.#cut.add(service);
    const kept = now.frontends.length;
    this.#options.log.warn(
      { service, kept },
      'a Service has more ports, addresses and endpoints than a node holds',
    );
  }

  async #forget(flows: readonly FlowSelector[]): Promise<void> {
    const { backend, log } = this.#options;
    try {
      if (flows.length > 0) await backend.forgetFlows(flows);
    } catch (error) {
      log.warn({ error }, 'UDP flows to endpoints that are gone could not be ended');
    }
  }

  #scheduleResync(): void {
    this.#cancelResync?.();
    this.#cancelResync = this.#options.clock.timer(this.#options.resyncMs ?? 3_600_000, () => {
      this.#isWholeDue = true;
      this.#schedule(0);
    });
  }
}

export function startProxy(options: ProxyOptions): Proxy {
  return new Proxier(options);
}
