// Keeps a machine's pod network equal to its plan: on each change of nodes, after link loss, and now and then.

import type { Node } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import { untilAborted } from '../base/until-aborted.ts';
import type { Informer } from '../client/cache/informer.ts';
import type { Logger } from '../component-base/logger.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { LinkChange, LinkInfo, Links, RouteInfo } from '../os/links.ts';
import type { PacketFilter } from '../os/packet-filter.ts';
import type { Sysctl } from '../os/sysctl.ts';
import { podIPOfInterface } from './interface-name.ts';
import type { NetworkPlan, PlannedRoute } from './network-plan.ts';
import { addressChanges, masqueradeTable, renderMasquerade, routeChanges } from './plan-diff.ts';
import { believedNodes } from './pod-cidr-claims.ts';
import { hasSubnet } from './subnet.ts';
import type { NetworkNode, Topology } from './topology.ts';
import { podRouteChanges, podsWithoutRoute, type Uplink, uplinkChanges, uplinkOf } from './uplink.ts';

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
  /** Kept as it is, also before the cluster's nodes are known. Undefined: the machine's own affair. */
  readonly uplink?: Uplink;
  /** Of the kernel, kept as they are. */
  readonly settings: Readonly<Record<string, string>>;
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
  /** Besides those of the topology; asked each time. */
  readonly moreRoutes?: (() => readonly PlannedRoute[]) | undefined;
  /** Called when this node's podCIDR is known or changed. */
  readonly onPodCIDR?: (cidr: string) => void;
  /** Told whose prefixes are believed, each time before the plan is applied; when it throws, all is tried again. */
  readonly onNodes?: (nodes: readonly NetworkNode[], look: Look, signal: AbortSignal) => Promise<void>;
  /** Told what links there are, with each look, before the plan is applied. */
  readonly keepCables?: (found: readonly LinkInfo[]) => Promise<void>;
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
    .filter(hasSubnet);
}

/** What there is now. */
export interface Look {
  readonly found: readonly LinkInfo[];
  readonly routes: readonly RouteInfo[];
}

/** All of them, whichever fail: one part of the network that is broken keeps no other from its repair. */
async function inTurn(...steps: readonly (() => Promise<void>)[]): Promise<void> {
  const failed: Error[] = [];
  for (const step of steps) await step().catch((error: Error) => failed.push(error));
  if (failed.length === 0) return;
  throw new Error(failed.map(({ message }) => message).join('; '), { cause: failed[0] });
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
  #saidError = '';
  #settingsKept = false;
  /** The interface to the cluster, when it was whole last. */
  #uplink: LinkInfo | undefined;
  /** Seen in the last look: a pod that is being made has none for a moment. */
  #podsWithoutRoute: readonly string[] = [];

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
    // the way to the server may have to be repaired before
    options.nodes.synced(this.#stopped.signal).then(changed, () => undefined);
    changed();
  }

  ready(signal?: AbortSignal): Promise<void> {
    return signal === undefined ? this.#ready.promise : untilAborted(this.#ready.promise, signal);
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
      if (this.#podsWithoutRoute.length > 0) next = retryMs;
      this.#saidError = '';
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      next = retryMs;
      this.#sayError(error as Error);
    }
    this.#running = undefined;
    this.#schedule(this.#again ? settleMs : next);
  }

  /** Once, not each second. */
  #sayError(error: Error): void {
    if (error.message !== this.#saidError)
      this.#options.log.error({ error }, 'the pod network could not be brought in order; trying again');
    this.#saidError = error.message;
  }

  async #sync(): Promise<void> {
    const { nodeName, nodes } = this.#options;
    let look = await this.#look();
    await inTurn(
      async () => {
        if (await this.#mendUplink(look)) look = await this.#look();
      },
      () => this.#keepSettings(),
      () => (nodeName === undefined ? Promise.resolve() : this.#keepPodRoutes(look)),
      async () => this.#options.keepCables?.(look.found),
      // before the first list there is nothing to plan; the uplink may be what it waits for
      () => (nodes.hasSynced() ? this.#applyPlan(look) : Promise.resolve()),
    );
  }

  async #look(): Promise<Look> {
    const { links } = this.#options;
    const [found, routes] = await Promise.all([links.links(), links.routes()]);
    return { found, routes };
  }

  async #mendUplink({ found, routes }: Look): Promise<boolean> {
    const { links, uplink } = this.#options;
    if (uplink === undefined) return false;
    const changes = uplinkChanges(found, routes, uplink, this.#uplink);
    if (changes.length > 0) {
      await links.apply(changes, { keepGoing: 'report' });
      this.#sayMended(changes);
    } else this.#uplink = uplinkOf(found, uplink, this.#uplink);
    return changes.length > 0;
  }

  #sayMended(changes: readonly LinkChange[]): void {
    const { log } = this.#options;
    const routes = changes.flatMap((change) => (change.do === 'replaceRoute' ? [change.to] : []));
    const addresses = changes.flatMap((change) => (change.do === 'replaceAddress' ? [change.address] : []));
    const down = changes.flatMap((change) => (change.do === 'setLink' ? [change.name] : []));
    if (down.length > 0)
      log.warn({ links: down }, 'links of this machine to its cluster were set down; set up again');
    if (addresses.length > 0)
      log.warn({ addresses }, 'addresses of this machine in its cluster were gone; given back');
    if (routes.length > 0) log.warn({ routes }, 'routes of this machine to its cluster were gone; made anew');
  }

  /** Read first: what has the right value is nobody's work, and what has not was changed by somebody. */
  async #keepSettings(): Promise<void> {
    const { log, settings, sysctl } = this.#options;
    const now = await sysctl.read(Object.keys(settings));
    const changed = Object.entries(settings).filter(([key, value]) => (now[key] ?? value) !== value);
    const wereRight = this.#settingsKept;
    if (changed.length > 0) await sysctl.set(Object.fromEntries(changed));
    this.#settingsKept = true;
    if (wereRight)
      for (const [setting, value] of changed)
        log.warn({ setting, was: now[setting], value }, 'a setting of the network was changed; set again');
  }

  async #keepPodRoutes({ found, routes }: Look): Promise<void> {
    const { links, log } = this.#options;
    const before = this.#podsWithoutRoute;
    this.#podsWithoutRoute = podsWithoutRoute(found, routes);
    const lost = this.#podsWithoutRoute.filter((name) => before.includes(name));
    if (lost.length === 0) return;
    // a pod may be gone meanwhile, its interface with it
    await links.apply(lost.flatMap(podRouteChanges), { keepGoing: 'silently' });
    log.warn({ interfaces: lost }, 'routes to pods of this node were gone; made anew');
    this.#podsWithoutRoute = [];
  }

  async #applyPlan({ found, routes }: Look): Promise<void> {
    const { clusterCIDR, interface: only, links, log, nodeName, nodes, onNodes, topology } = this.#options;
    const believed = believedNodes(nodes.lister.list().map(networkNode), clusterCIDR);
    await onNodes?.(believed.nodes, { found, routes }, this.#stopped.signal);
    const view = {
      nodes: believed.nodes,
      clusterCIDR,
      serviceCIDR: this.#options.serviceCIDR,
      connected: connectedPrefixes(found, only),
      masqueradeExceptions: this.#options.masqueradeExceptions ?? [],
    };
    const planned = topology.plan(view, nodeName);
    const more = this.#options.moreRoutes?.() ?? [];
    const plan = more.length === 0 ? planned : { ...planned, routes: [...planned.routes, ...more] };
    const routing = routeChanges(plan, routes, only);
    await inTurn(
      () => links.apply([...addressChanges(plan, found), ...routing.changes], { keepGoing: 'report' }),
      () => this.#keepMasquerade(plan),
    );
    const problems = [...believed.problems, ...plan.problems, ...routing.problems];
    for (const problem of problems)
      if (!this.#problems.includes(problem))
        log.warn({ problem }, 'a part of the pod network cannot be reached');
    this.#problems = problems;
    if (nodeName === undefined) this.#ready.resolve();
    else this.#announce(view.nodes.find((node) => node.name === nodeName));
  }

  async #keepMasquerade(plan: NetworkPlan): Promise<void> {
    const masquerade = this.#options.nodeName === undefined ? '' : renderMasquerade(plan.masquerade);
    if (masquerade === this.#masquerade) return;
    await this.#options.packetFilter.apply(masquerade);
    this.#masquerade = masquerade;
    this.#hasTable = plan.masquerade !== undefined;
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
