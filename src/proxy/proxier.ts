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
import { inSlices, Slice, type Steps, Turns } from '../base/turns.ts';
import type { Informer, InformerFactory } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { FlowSelector, PacketFilter } from '../os/packet-filter.ts';
import { table } from './backends/nftables/fragment.ts';
import { createNftablesBackend, type NftablesBackend } from './backends/nftables/nftables.ts';
import { flowsPast, staleFlows } from './conntrack-cleanup.ts';
import { desiredRules } from './desired-rules.ts';
import { ElementBudget } from './element-budget.ts';
import type { NodeView } from './endpoint-selection.ts';
import { createHealthChecks, type HealthChecks } from './health-check-server.ts';
import type { ServiceRules } from './rule-set.ts';

export interface ProxyOptions {
  readonly informers: Pick<InformerFactory, 'informer'>;
  readonly nodeName: string;
  /** Traffic from here to a ClusterIP keeps its source address. */
  readonly clusterCIDR: string;
  /** Prefixes, beside the pods', that no external address of a Service may be of: ClusterIPs, the API server, resolvers. */
  readonly reservedCIDRs: readonly string[];
  readonly packetFilter: PacketFilter;
  readonly tables: KeptTables;
  readonly clock: Clock;
  readonly log: Logger;
  /** Changes within this time become one transaction. Default 10. */
  readonly batchMs?: number;
  /** The whole table is written anew this often, in case something else changed it. Default 3,600,000. */
  readonly resyncMs?: number;
}

export interface Proxy {
  /** Resolves after the first whole table was written. */
  ready(): Promise<void>;
  /** In place of `reservedCIDRs`. */
  reserve(cidrs: readonly string[]): void;
  stop(): Promise<void>;
}

const retryMs = 1000;
/** Each is a process: beyond that all flows are judged anew by their next packet. */
const mostFlows = 200;
/** A table as nft lists it takes half a microsecond of a processor a byte: to look at it is to take half a percent of one at most. */
const restMsPerByte = 0.1;
/** And 1 KB of memory an element, for a moment: beyond that nobody looks. */
const mostLookedAt = 50_000;
/** Who takes the same again and again, or an nft that lists it in a way that is not known here, is left alone until all is there. */
const mostMissed = 3;
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
  readonly #backend: NftablesBackend;
  readonly #health: HealthChecks;
  readonly #nodes: Informer<Node>;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #slicesOf = new Map<string, Map<string, EndpointSlice>>();
  readonly #rules = new Map<string, ServiceRules>();
  readonly #budget = new ElementBudget();
  readonly #dirty = new Set<string>();
  readonly #turns: Turns;
  readonly #ready = Promise.withResolvers<void>();
  readonly #stopped = new AbortController();
  readonly #removeHandlers: (() => void)[];
  /** False also while what failed is tried again. */
  #written = false;
  #cancelTimer: (() => void) | undefined;
  #cancelResync: (() => void) | undefined;
  #nextLookMs = 0;
  /** By the last look, and how many in a row have missed just that. */
  #missed: string | undefined;
  #missedLooks = 0;
  /** From the beginning: what informers know already when handlers are added is the first run's, not one beside it. */
  #running: Promise<void> | undefined = Promise.resolve();

  constructor(options: ProxyOptions) {
    this.#options = options;
    const reserved = prefixes(options.clusterCIDR, options.reservedCIDRs);
    this.#node = { name: options.nodeName, zone: undefined, reserved };
    const { clock, clusterCIDR, log, packetFilter } = options;
    this.#turns = new Turns((run) => clock.timer(0, run));
    this.#backend = createNftablesBackend(packetFilter, clusterCIDR, this.#inSteps, log);
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
      options.tables.keep({
        written: () => (this.#written ? [table] : []),
        missing: () => this.#missing(),
        writeAnew: () => this.#writeAnew(),
      }),
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
    const { log } = this.#options;
    let delay = this.#options.batchMs ?? 10;
    const flows = await this.#inSteps(this.#recompute());
    try {
      if (await this.#backend.sync()) this.#scheduleResync();
      this.#written = true;
      this.#ready.resolve();
      await this.#forget(flows);
    } catch (error) {
      this.#backend.invalidate();
      this.#written = false;
      delay = retryMs;
      log.error({ error }, 'service rules could not be written; trying again');
    }
    this.#running = undefined;
    if (this.#dirty.size > 0 || delay === retryMs) this.#schedule(delay);
  }

  /** Of a table that is there. */
  async #missing(): Promise<{ table: string; what: string } | undefined> {
    const { clock } = this.#options;
    if (clock.monotonic() < this.#nextLookMs || this.#budget.held > mostLookedAt) return undefined;
    const missing = await this.#compare();
    this.#missedLooks = missing !== undefined && missing === this.#missed ? this.#missedLooks + 1 : 1;
    this.#missed = missing;
    const isVain = this.#missedLooks > mostMissed;
    return missing === undefined || isVain ? undefined : { table, what: `lost ${missing}` };
  }

  /** Nothing is written meanwhile: what is missing then was there before. */
  async #compare(): Promise<string | undefined> {
    while (this.#running !== undefined) await this.#running;
    if (this.#stopped.signal.aborted || !this.#written) return undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const comparing = this.#backend.compare().finally(() => {
      this.#running = undefined;
      if (this.#dirty.size > 0) this.#schedule(0);
    });
    this.#running = comparing.then(
      () => undefined,
      () => undefined,
    );
    const { missing, bytes } = await comparing;
    this.#nextLookMs = this.#options.clock.monotonic() + bytes * restMsPerByte;
    return missing;
  }

  /** Of a table that somebody deleted: flows that began without it went past their Service, and UDP's would go on to. */
  async #writeAnew(): Promise<void> {
    await this.#running; // what it changes may be in a table that is gone
    if (this.#stopped.signal.aborted) return;
    this.#backend.invalidate();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#running ??= this.#run();
    await this.#running;
    if (!this.#written) throw new Error('service rules could not be written');
    await this.#forget(await this.#inSteps(this.#allFlowsPast()));
  }

  /** The kubelet answers in the same process: between steps, however much the Services of a user are. */
  readonly #inSteps = <T>(steps: Steps<T>): Promise<T> => {
    const { clock } = this.#options;
    return inSlices(steps, new Slice(this.#turns, () => clock.monotonic()));
  };

  *#allFlowsPast(): Steps<FlowSelector[]> {
    const flows: FlowSelector[] = [];
    for (const rules of this.#rules.values()) for (const flow of yield* flowsPast(rules)) flows.push(flow);
    return flows;
  }

  *#recompute(): Steps<FlowSelector[]> {
    const flows: FlowSelector[] = [];
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
      for (const flow of yield* staleFlows(this.#rules.get(key), now)) flows.push(flow);
      if (now === undefined) this.#rules.delete(key);
      else this.#rules.set(key, now);
      this.#backend.set(key, now);
      this.#health.set(key, service, now);
    }
    return flows;
  }

  #sayCut(service: string, now: ServiceRules | undefined): void {
    if (now?.isCut !== true || this.#rules.get(service)?.isCut === true) return;
    const kept = now.frontends.length;
    this.#options.log.warn(
      { service, kept },
      'a Service has more ports, addresses and endpoints than a node holds',
    );
  }

  async #forget(flows: readonly FlowSelector[]): Promise<void> {
    if (flows.length === 0) return;
    try {
      await this.#options.packetFilter.forgetFlows(flows.length > mostFlows ? [{ protocol: 'udp' }] : flows);
    } catch (error) {
      this.#options.log.warn({ error }, 'UDP flows to endpoints that are gone could not be ended');
    }
  }

  #scheduleResync(): void {
    this.#cancelResync?.();
    this.#cancelResync = this.#options.clock.timer(this.#options.resyncMs ?? 3_600_000, () => {
      this.#backend.invalidate();
      void Promise.resolve(this.#running).then(() => this.#schedule(0));
    });
  }
}

export function startProxy(options: ProxyOptions): Proxy {
  return new Proxier(options);
}
