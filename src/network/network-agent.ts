// Keeps a machine's pod network equal to its plan: on each change of nodes, after link loss, and now and then.
import type { Node } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import { parseIpv4Cidr } from '../base/ipv4.ts';
import type { Informer } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { LinkInfo, Links } from '../os/links.ts';
import type { PacketFilter } from '../os/packet-filter.ts';
import type { Sysctl } from '../os/sysctl.ts';
import { forwardingSettings } from './fabric-plan.ts';
import { podIPOfInterface } from './interface-name.ts';
import { addressChanges, masqueradeTable, renderMasquerade, routeChanges } from './plan-diff.ts';
import { believedNodes } from './pod-cidr-claims.ts';
import type { NetworkNode, Topology } from './topology.ts';

export interface NetworkAgentOptions {
  readonly nodes: Informer<Node>;
  readonly topology: Topology;
  /** Undefined on a machine that is no node but must reach the pods, as the API server's. */
  readonly nodeName: string | undefined;
  /**
   * The cluster's interface in a namespace that others use too: only routes on it are looked at, made and removed.
   * Undefined in a node's own namespace.
   */
  readonly interface?: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  /** Prefixes besides the cluster's own that see pods by their own address. */
  readonly masqueradeExceptions?: readonly string[];
  readonly links: Links;
  readonly packetFilter: PacketFilter;
  readonly tables: KeptTables;
  readonly sysctl: Sysctl;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when this node's podCIDR is known or changed. */
  readonly onPodCIDR?: (cidr: string) => void;
  /** Told whose prefixes are believed, each time before the plan is applied; when it throws, all is tried again. */
  readonly onNodes?: (nodes: readonly NetworkNode[], signal: AbortSignal) => Promise<void>;
  /** Full resync. Default 30,000. */
  readonly resyncMs?: number;
}

export interface NetworkAgent {
  /** Resolves after the first plan with this node's podCIDR was applied. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Why a part of the cluster can't be reached; empty when all is well. */
  problems(): readonly string[];
  /** What the plan is made of has changed besides nodes and links. */
  refresh(): void;
  stop(): Promise<void>;
}

/** Changes come in bursts; one pass does for all of them. */
const settleMs = 20;
/** Each pod that comes or goes is a change of links too: less eager. */
const linkSettleMs = 200;
const retryMs = 1000;

function networkNode(node: Node): NetworkNode {
  const internalIP = node.status?.addresses?.find((address) => address.type === 'InternalIP')?.address;
  const os = node.metadata.labels?.['kubernetes.io/os'] ?? node.status?.nodeInfo?.operatingSystem;
  return {
    name: node.metadata.name ?? '',
    os: os === 'windows' ? 'windows' : 'linux',
    internalIP,
    podCIDR: node.spec.podCIDR === '' ? undefined : node.spec.podCIDR,
    registered: node.metadata.creationTimestamp ?? '',
  };
}

/** Loopback, the pods' cables and CNI's own bridge lead to no other node; nor does what is not `only`, if given. */
function connectedPrefixes(links: readonly LinkInfo[], only: string | undefined): string[] {
  return links
    .filter((link) => only === undefined || link.name === only)
    .filter((link) => link.name !== 'lo' && link.name !== 'cbr0' && podIPOfInterface(link.name) === undefined)
    .flatMap((link) => link.addresses)
    .filter((address) => (parseIpv4Cidr(address)?.bits ?? 32) < 32);
}

class Agent implements NetworkAgent {
  readonly #options: NetworkAgentOptions;
  readonly #stopped = new AbortController();
  readonly #removeHandler: () => void;
  readonly #forgetTable: () => void;
  readonly #ready = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #again = false;
  #cancelTimer: (() => void) | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #podCIDR: string | undefined;
  /** What was written, and for whom: without sources there is no table. */
  #masquerade = '';
  #hasTable = false;
  #problems: readonly string[] = [];
  #saidWaiting = false;

  constructor(options: NetworkAgentOptions) {
    this.#options = options;
    const changed = (): void => this.refresh();
    this.#removeHandler = options.nodes.addHandler({
      added: changed,
      updated: (old, node) => {
        if (JSON.stringify(networkNode(old)) !== JSON.stringify(networkNode(node))) changed();
      },
      deleted: changed,
    });
    this.#forgetTable = options.tables.keep({
      written: () => (this.#hasTable ? [masqueradeTable] : []),
      writeAnew: () => options.packetFilter.apply(this.#masquerade),
    });
    options.links.watch(() => this.#schedule(linkSettleMs), this.#stopped.signal);
    changed();
  }

  ready(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return this.#ready.promise;
    return new Promise((resolve, reject) => {
      const aborted = (): void => reject(signal.reason as Error);
      if (signal.aborted) aborted();
      signal.addEventListener('abort', aborted, { once: true });
      void this.#ready.promise.then(() => {
        signal.removeEventListener('abort', aborted);
        resolve();
      }, reject);
    });
  }

  problems(): readonly string[] {
    return this.#problems;
  }

  refresh(): void {
    this.#schedule(settleMs);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#removeHandler();
    this.#forgetTable();
    this.#cancelTimer?.();
    await this.#running;
  }

  #schedule(ms: number): void {
    if (this.#stopped.signal.aborted) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    const { clock } = this.#options;
    const dueAt = clock.monotonic() + ms;
    if (dueAt >= this.#dueAt) return;
    this.#cancelTimer?.();
    this.#dueAt = dueAt;
    this.#cancelTimer = clock.timer(ms, () => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#running = this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#again = false;
    let next = this.#options.resyncMs ?? 30_000;
    try {
      await this.#sync();
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      next = retryMs;
      this.#options.log.error({ error }, 'the pod network could not be brought in order; trying again');
    }
    this.#running = undefined;
    this.#schedule(this.#again ? settleMs : next);
  }

  async #sync(): Promise<void> {
    const { links, log, nodeName, nodes, packetFilter, sysctl, topology } = this.#options;
    await nodes.synced(this.#stopped.signal);
    const { interface: only } = this.#options;
    const [found, routes] = await Promise.all([links.links(), links.routes()]);
    const believed = believedNodes(nodes.lister.list().map(networkNode), this.#options.clusterCIDR);
    await this.#options.onNodes?.(believed.nodes, this.#stopped.signal);
    const view = {
      nodes: believed.nodes,
      clusterCIDR: this.#options.clusterCIDR,
      serviceCIDR: this.#options.serviceCIDR,
      connected: connectedPrefixes(found, only),
      masqueradeExceptions: this.#options.masqueradeExceptions ?? [],
    };
    const own = view.nodes.find((node) => node.name === nodeName);
    const plan = topology.plan(view, nodeName);
    const routing = routeChanges(plan, routes, only);
    await links.apply([...addressChanges(plan, found), ...routing.changes]);
    const masquerade = nodeName === undefined ? '' : renderMasquerade(plan.masquerade);
    if (masquerade !== this.#masquerade) {
      await Promise.all([packetFilter.apply(masquerade), sysctl.set(forwardingSettings)]);
      this.#masquerade = masquerade;
      this.#hasTable = plan.masquerade !== undefined;
    }
    const problems = [...believed.problems, ...plan.problems, ...routing.problems];
    for (const problem of problems)
      if (!this.#problems.includes(problem))
        log.warn({ problem }, 'a part of the pod network cannot be reached');
    this.#problems = problems;
    if (nodeName === undefined) this.#ready.resolve();
    else this.#announce(own);
  }

  #announce(own: NetworkNode | undefined): void {
    const { log, nodeName, onPodCIDR } = this.#options;
    if (own?.podCIDR === undefined) {
      if (!this.#saidWaiting)
        log.info({ node: nodeName }, 'waiting for spec.podCIDR to be assigned to this node');
      this.#saidWaiting = true;
      return;
    }
    if (own.podCIDR !== this.#podCIDR) {
      log.info({ node: nodeName, podCIDR: own.podCIDR }, 'pod network is in place');
      onPodCIDR?.(own.podCIDR);
    }
    this.#podCIDR = own.podCIDR;
    this.#ready.resolve();
  }
}

export function startNetworkAgent(options: NetworkAgentOptions): NetworkAgent {
  return new Agent(options);
}
