// Deletes what lost all its owners, and carries out foreground and orphan deletion.
import type { OwnerReference } from '../api/generated/types/meta-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import { Turns } from '../base/turns.ts';
import { within } from '../base/within.ts';
import type { InformerFactory, MetadataOnly } from '../client/cache/informer.ts';
import { type DiscoveredResource, supports } from '../client/discovery.ts';
import { declareMetrics } from '../component-base/metrics.ts';
import { anything, may } from '../controller-runtime/access.ts';
import {
  type AnyResource,
  type Controller,
  type ControllerContext,
  defineLoop,
} from '../controller-runtime/define-controller.ts';
import { groupOf } from '../controller-runtime/owner-reference.ts';
import { queueMetrics } from '../controller-runtime/queue-metrics.ts';
import { WorkQueue } from '../controller-runtime/work-queue.ts';
import { type Collector, collect, orphan } from './garbage-collector/collect.ts';
import { type Consequences, type GraphNode, OwnershipGraph } from './garbage-collector/ownership-graph.ts';

/** How often new kinds (CRDs) are looked for. */
const discoverEveryMs = 30_000;
/** After a definition of kinds changed: it becomes established, and others mostly follow. */
const gatherMs = 500;
/** Upstream's initialSyncTimeout. */
const firstListsMs = 30_000;
/** Upstream's --concurrent-gc-syncs. */
const usualConcurrency = 20;

const idOf = (r: ResourceRef): string => `${r.group}/${r.resource}`;
/** Events have no owners and there are many. */
const isIgnored = (r: ResourceRef): boolean =>
  r.resource === 'events' && (r.group === '' || r.group === 'events.k8s.io');

const definesKinds = (r: ResourceRef): boolean =>
  (r.group === 'apiextensions.k8s.io' && r.resource === 'customresourcedefinitions') ||
  (r.group === 'apiregistration.k8s.io' && r.resource === 'apiservices');

const syncErrors = declareMetrics((metrics) =>
  metrics.counter(
    'garbagecollector_controller_resources_sync_error_total',
    'Number of garbage collector resources sync errors',
    [],
  ),
);

class GarbageCollector {
  readonly #context: ControllerContext;
  readonly #informers: InformerFactory;
  readonly #shared: ReadonlyMap<string, AnyResource>;
  readonly #watching = new Map<string, Promise<void>>();
  readonly #ends = new Map<string, AbortController>();
  /** The informers are not its own, and go on when it ends. */
  readonly #removeHandlers: (() => void)[] = [];
  readonly #byKind = new Map<string, ResourceRef>();
  readonly #graph: OwnershipGraph;
  readonly #collector: Collector;
  #early: Set<string> | undefined = new Set();
  /** Ends the rest between two discoveries: a definition of kinds has changed. */
  #wake = new AbortController();
  readonly #deleting: WorkQueue;
  readonly #orphaning: WorkQueue;

  constructor(
    context: ControllerContext,
    informers: InformerFactory,
    shared: readonly AnyResource[],
    concurrency: number,
  ) {
    this.#context = context;
    this.#informers = informers;
    this.#shared = new Map(shared.map((resource) => [idOf(resource), resource]));
    const resourceOf = ({ apiVersion, kind }: OwnerReference): ResourceRef | undefined =>
      this.#byKind.get(`${groupOf(apiVersion)}/${kind}`);
    this.#graph = new OwnershipGraph(resourceOf);
    this.#collector = {
      client: context.write,
      turns: new Turns((run) => context.clock.timer(0, run)),
      now: () => context.clock.monotonic(),
      resourceOf,
      nodeOf: (uid) => this.#graph.node(uid),
      enqueue: (node) => this.#enqueue(node.uid),
      forget: (node) => this.#apply(this.#graph.remove(node.uid)),
    };
    const queueOf = (
      name: string,
      work: (collector: Collector, node: GraphNode) => Promise<void>,
    ): WorkQueue => {
      const queue: WorkQueue = new WorkQueue({
        clock: context.clock,
        concurrency,
        process: async (uid) => {
          const node = this.#graph.node(uid);
          if (node === undefined) return;
          if (queue === this.#deleting && this.#isSafe(node)) return;
          try {
            await work(this.#collector, node);
            queue.forget(uid);
          } catch (error) {
            if (context.signal.aborted) return;
            const { kind } = node.resource;
            if (!isStatusError(error, 'Conflict'))
              context.log.debug(
                { error, kind, name: node.name, namespace: node.namespace },
                'collection is tried again',
              );
            queue.addRateLimited(uid);
          }
        },
        maxDelayMs: 60_000,
        metrics: queueMetrics(context.metrics, name),
      });
      return queue;
    };
    this.#deleting = queueOf('garbage_collector_attempt_to_delete', collect);
    this.#orphaning = queueOf('garbage_collector_attempt_to_orphan', orphan);
  }

  /** Before all first lists are there, an owner that is not known may only be not yet known. */
  #enqueue(uid: string): void {
    if (this.#early !== undefined) this.#early.add(uid);
    else this.#deleting.add(uid);
  }
  /** All owners are there and stay: no need to ask the server. A deletion still to be heard of comes here again. */
  #isSafe(node: GraphNode): boolean {
    if (node.deletingDependents || node.virtual) return false;
    return node.owners.every(({ uid }) => {
      const owner = this.#graph.node(uid);
      return owner !== undefined && !owner.virtual && !owner.deletingDependents;
    });
  }

  #apply({ attemptToDelete, attemptToOrphan }: Consequences): void {
    for (const node of attemptToDelete) this.#enqueue(node.uid);
    for (const node of attemptToOrphan) this.#orphaning.add(node.uid);
  }
  #set(resource: ResourceRef, object: unknown): void {
    if (definesKinds(resource)) this.#wake.abort();
    this.#apply(this.#graph.set(resource, (object as MetadataOnly).metadata));
  }
  #remove(uid: string | undefined): void {
    this.#apply(this.#graph.remove(uid ?? ''));
  }

  /** What components hold anyway is taken from them; of the rest only the references are kept. */
  #watch(resource: DiscoveredResource): Promise<void> {
    const shared = this.#shared.get(idOf(resource));
    if (shared !== undefined) {
      const informer = this.#informers.informer(shared);
      const remove = informer.addHandler({
        added: (object) => this.#set(resource, object),
        updated: (_, object) => this.#set(resource, object),
        deleted: (object) => this.#remove((object as MetadataOnly).metadata.uid),
      });
      this.#removeHandlers.push(remove);
      // Nobody else may have asked for it: the controller that reads it may be left out.
      this.#informers.start();
      return informer.synced(this.#context.signal);
    }
    return new Promise((resolve) => {
      let known = new Set<string>();
      const sink = {
        replace: (objects: readonly MetadataOnly[]) => {
          const uids = new Set<string>();
          for (const object of objects) {
            uids.add(object.metadata.uid ?? '');
            this.#set(resource, object);
          }
          for (const uid of known) if (!uids.has(uid)) this.#remove(uid);
          known = uids;
          resolve();
        },
        set: (object: MetadataOnly) => {
          known.add(object.metadata.uid ?? '');
          this.#set(resource, object);
        },
        remove: (object: MetadataOnly) => {
          known.delete(object.metadata.uid ?? '');
          this.#remove(object.metadata.uid);
        },
      };
      const { signal } = this.#context;
      const scope = AbortSignal.any([signal, this.#endOf(resource)]);
      void this.#informers.follow(resource, sink, scope).then(() => {
        // At the end of all of it nothing is gone.
        if (!signal.aborted) for (const uid of known) this.#remove(uid);
        resolve();
      });
    });
  }

  #endOf(resource: ResourceRef): AbortSignal {
    const end = new AbortController();
    this.#ends.set(idOf(resource), end);
    return end.signal;
  }

  async #sync(): Promise<void> {
    const { resources, failures } = await this.#context.discover();
    const wanted = new Set<string>();
    for (const resource of resources) {
      this.#byKind.set(`${resource.group}/${resource.kind}`, resource);
      if (isIgnored(resource) || !supports(resource, 'list', 'watch', 'delete')) continue;
      wanted.add(idOf(resource));
      if (!this.#watching.has(idOf(resource))) this.#watching.set(idOf(resource), this.#watch(resource));
    }
    // A group that does not answer is not gone.
    if (failures.length === 0)
      for (const id of this.#watching.keys())
        if (!wanted.has(id)) {
          this.#ends.get(id)?.abort();
          this.#watching.delete(id);
        }
  }

  /** Another API server may list nothing for ever: as upstream, what is known is worked with after a while. */
  async #firstLists(): Promise<void> {
    const { signal, clock, log } = this.#context;
    const all = Promise.all(this.#watching.values());
    await within(clock, firstListsMs, all).catch((error: unknown) => {
      if (signal.aborted) throw error;
      log.warn({ error }, 'not all kinds could be listed, proceeding anyway');
    });
  }

  async run(): Promise<void> {
    const { signal, clock, log } = this.#context;
    while (!signal.aborted) {
      // What changes from here on may be missed by this discovery.
      this.#wake = new AbortController();
      try {
        await this.#sync();
        await this.#firstLists();
        const early = this.#early ?? [];
        this.#early = undefined;
        for (const uid of early) this.#deleting.add(uid);
      } catch (error) {
        if (signal.aborted) break;
        syncErrors(this.#context.metrics).inc({});
        log.warn({ error }, 'discovery failed');
      }
      await clock.sleep(discoverEveryMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => {});
      await clock.sleep(gatherMs, signal).catch(() => {});
    }
    for (const remove of this.#removeHandlers) remove();
    await Promise.all([this.#deleting.stop(), this.#orphaning.stop()]);
  }
}

/** `shared` are the resources that other controllers' informers hold anyway. */
export const garbageCollectorController = (
  shared: readonly AnyResource[],
  concurrency: number = usualConcurrency,
): Controller =>
  defineLoop({
    name: 'garbage-collector-controller',
    serviceAccount: 'generic-garbage-collector',
    reads: [],
    access: [may(['delete', 'get', 'list', 'patch', 'watch'], anything)],
    run: (context, informers) => new GarbageCollector(context, informers, shared, concurrency).run(),
  });
