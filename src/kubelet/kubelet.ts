// The kubelet of one node: pods of the API on one side, the runtime on the other.
import { pods, runtimeclasses, services } from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import type { Client } from '../client/client.ts';
import { createEventRecorder } from '../client/event-recorder.ts';
import type { Logger } from '../component-base/logger.ts';
import type { CounterMetric, MetricsRegistry } from '../component-base/metrics.ts';
import type { Host } from '../os/host.ts';
import type { Cri } from '../rpc-api/cri.ts';
import { admitPod, admitResize } from './admit-handlers.ts';
import { type Eviction, type EvictionManager, startEvictionManager } from './eviction/eviction-manager.ts';
import type { Threshold } from './eviction/thresholds.ts';
import { type KubeletContext, podEvent } from './kubelet-context.ts';
import { type KubeletMetrics, kubeletMetrics } from './metrics/kubelet-metrics.ts';
import { timedCgroups } from './metrics/timed-cgroups.ts';
import type { NodeOs } from './node-os/node-os.ts';
import type { NodeRuntime } from './node-runtime.ts';
import { startNodeLease } from './node-status/node-lease.ts';
import { allocatableNumbers, initialNode, type NodeFacts } from './node-status/node-object.ts';
import { startNodeStatusUpdater } from './node-status/node-status-updater.ts';
import { runtimeHealth } from './node-status/runtime-health.ts';
import { createObjectCache } from './object-cache.ts';
import { isMirrorPod, podText, podUid } from './pod-format.ts';
import { startPleg } from './pod-lifecycle-event-generator.ts';
import { PodWorkers } from './pod-workers.ts';
import {
  allPodsLimits,
  defaultPodPidsLimit,
  nothingReserved,
  type Reservation,
} from './resources/node-reservation.ts';
import { allPodsCgroup } from './resources/qos.ts';
import { createCommands } from './runtime/commands.ts';
import type { ClusterDns } from './runtime/dns-config.ts';
import { createImageAccess } from './runtime/image-access.ts';
import { imageCredentials } from './runtime/image-credentials.ts';
import { createImagePuller } from './runtime/image-puller.ts';
import { startLogRotation } from './runtime/log-rotation.ts';
import { beyondRuntime, featuresOf } from './runtime/runtime-features.ts';
import { type KubeletServerTls, startKubeletServer } from './server/kubelet-server.ts';
import { createStatusManager } from './status-manager.ts';

export interface KubeletOptions {
  readonly client: Client;
  readonly informers: InformerFactory;
  /** What runs the pods. */
  readonly runtime: NodeRuntime;
  readonly host: Pick<Host, 'files' | 'stats'>;
  readonly nodeOs: NodeOs;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly nodeName: string;
  /** The first one is the node's InternalIP. */
  readonly nodeIPs: readonly string[];
  readonly dns: ClusterDns;
  /** Shown as the node's kubeletVersion. */
  readonly version: string;
  /** Default 110. */
  readonly maxPods?: number;
  /** Kept from pods. Default nothing. */
  readonly reserved?: Reservation;
  /** Below these the node is short of something, and pods are evicted. Default none. */
  readonly thresholds?: readonly Threshold[];
  /** Processes and threads of one pod; -1 is no limit. Default 4096. */
  readonly podPidsLimit?: number;
  /** Absent: no server (logs, exec …). */
  readonly server?: { readonly address: string; readonly port: number; readonly tls: KubeletServerTls };
  /** Shown at the server's /metrics. Default one of its own. */
  readonly metrics?: MetricsRegistry;
}

export interface Kubelet {
  /** Where the server listens; 0 without one. */
  readonly port: number;
  /** Certificates of the server that were renewed. */
  setServerTls(tls: KubeletServerTls): void;
  /** Ends the agent's work; containers go on running. */
  stop(): Promise<void>;
}

function runtimeClassHandler(client: Client): (name: string) => Promise<string> {
  return async (name) => {
    try {
      return (await client.get(runtimeclasses, { name })).handler;
    } catch (error) {
      if (isStatusError(error, 'NotFound'))
        throw new Error(`failed to get sandbox runtime: RuntimeClass "${name}" not found`);
      throw error;
    }
  };
}

async function nodeFacts(options: KubeletOptions, cri: Cri, port: number): Promise<NodeFacts> {
  const { host, runtime } = options;
  const version = await cri.runtime.version();
  const machine = await host.stats.machine();
  return {
    nodeName: options.nodeName,
    nodeIPs: options.nodeIPs,
    nodeOs: options.nodeOs,
    machine: { ...machine, hostname: options.nodeName },
    disk: (await runtime.disks()).node,
    maxPods: options.maxPods ?? 110,
    kubeletVersion: options.version,
    containerRuntimeVersion: `${version.runtimeName}://${version.runtimeVersion}`,
    runtimeFeatures: featuresOf(await cri.runtime.status()),
    kubeletPort: port,
    reserved: options.reserved ?? nothingReserved,
    thresholds: options.thresholds ?? [],
  };
}

/** What was evicted and is still there after this long is not waited for. Upstream: podCleanupTimeout. */
const evictedWithinMs = 30_000;
/** Upstream: immediateEvictionGracePeriodSeconds. */
const evictionGraceSeconds = 1;

async function evictPod(
  ctx: KubeletContext,
  workers: PodWorkers,
  evicted: CounterMetric,
  eviction: Eviction,
): Promise<void> {
  const { pod, message, disruption, signal } = eviction;
  const worker = workers.get(podUid(pod));
  if (!worker) return;
  podEvent(ctx, pod, { type: 'Warning', reason: 'Evicted', message });
  evicted.inc({ eviction_signal: signal });
  const gone = worker.evict({ reason: 'Evicted', message, disruption }, evictionGraceSeconds);
  await Promise.race([gone, ctx.clock.sleep(evictedWithinMs)]);
}

/** Undefined: pods take nothing of their machine, so there is nothing to be had from them. */
function startEviction(
  options: KubeletOptions,
  ctx: KubeletContext,
  workers: PodWorkers,
  evicted: CounterMetric,
  conditionsChanged: () => void,
): EvictionManager | undefined {
  const { host, clock, log, runtime } = options;
  const { hasMemoryVolumes } = ctx.nodeOs;
  const active = (): Pod[] => workers.list().flatMap((worker) => (worker.isEnding ? [] : [worker.pod]));
  const meter = runtime.meter({ clock, log, runtime: ctx.cri.runtime, hasMemoryVolumes, active });
  if (meter === undefined) return undefined;
  const about = nodeReference(options);
  const manager = startEvictionManager({
    clock,
    log,
    thresholds: options.thresholds ?? [],
    node: async () => {
      const [usage, disks] = [await host.stats.usage(), await runtime.disks()];
      return { memoryBytes: ctx.machine.memoryBytes, usage, nodefs: disks.node, imagefs: disks.images };
    },
    active,
    measure: meter.measure,
    evict: (eviction) => evictPod(ctx, workers, evicted, eviction),
    announce: (message) => ctx.recorder.event(about, 'Warning', 'EvictionThresholdMet', message),
    conditionsChanged,
  });
  const stop = async (): Promise<void> => {
    meter.stop();
    await manager.stop();
  };
  return { ...manager, stop };
}

const nodeReference = ({ nodeName }: KubeletOptions) =>
  ({ kind: 'Node', apiVersion: 'v1', name: nodeName, uid: nodeName }) as const;

type ObjectCache = ReturnType<typeof createObjectCache>;
type SayEvent = Parameters<typeof createImagePuller>[0]['event'];

const imagePuller = (
  { runtime: { pullRecords: records, registryLogins }, clock, log }: KubeletOptions,
  { cri: { images }, pulls: durations }: KubeletMetrics,
  objects: ObjectCache,
  event: SayEvent,
): ReturnType<typeof createImagePuller> =>
  createImagePuller({
    images,
    clock,
    event,
    credentials: (pod, image) => imageCredentials({ objects, registryLogins, log }, pod, image),
    access: createImageAccess({ records, images, clock, log }),
    durations,
  });

function createContext(
  options: KubeletOptions,
  facts: NodeFacts,
  metrics: KubeletMetrics,
  workers: () => PodWorkers,
): { readonly ctx: KubeletContext; readonly objects: ObjectCache } {
  const { client, clock, random, log, runtime, nodeOs, nodeIPs } = options;
  const { cri, starts, passes } = metrics;
  const source = { component: 'kubelet', host: options.nodeName };
  const recorder = createEventRecorder({ client, clock, log }, source);
  const event: SayEvent = (pod, e) => podEvent({ recorder }, pod, e);
  const changed = (uids: readonly string[]): void => workers().objectsChanged(uids);
  const common = { client, clock, random, log };
  const objects = createObjectCache({ ...common, changed });
  const allocatable = allocatableNumbers(facts);
  const commands = createCommands({ runtime: cri.runtime, clock });
  const ctx: KubeletContext = {
    ...common,
    cri,
    nodeOs,
    nodeName: options.nodeName,
    nodeIPs,
    recorder,
    services: options.informers.informer(services).lister,
    objects,
    storage: runtime.storage,
    volumes: runtime.volumes({ ...common, objects, nodeOs, nodeIPs, allocatable, metrics: metrics.volumes }),
    images: imagePuller(options, metrics, objects, event),
    status: createStatusManager({
      client,
      clock,
      log,
      metrics: metrics.node,
      changed: (pod, status) => starts.became(pod, status),
    }),
    commands,
    passes,
    prober: runtime.prober({
      commands,
      clock,
      random,
      metrics: metrics.probe,
      changed: (uid) => workers().wake(uid),
      event,
    }),
    cgroups: runtime.cgroups && timedCgroups(runtime.cgroups, metrics.node, clock),
    cgroupRoot: runtime.cgroupRoot,
    seccompRoot: runtime.seccompRoot,
    podPidsLimit: options.podPidsLimit ?? defaultPodPidsLimit,
    dns: options.dns,
    runtimeFeatures: facts.runtimeFeatures,
    machine: facts.machine,
    allocatable,
    runtimeName: facts.containerRuntimeVersion.split('://')[0]!,
    fullExitCode: runtime.fullExitCode,
    runtimeClassHandler: runtimeClassHandler(client),
    imagePlatform: runtime.imagePlatform,
  };
  return { ctx, objects };
}

/** What `kubectl describe node` shows of a start: also what is not real about this node. */
function announce(ctx: KubeletContext, options: KubeletOptions): void {
  const about = nodeReference(options);
  ctx.recorder.event(about, 'Normal', 'Starting', 'Starting kubelet.');
  if (options.nodeOs.notice) ctx.recorder.event(about, 'Normal', 'Emulated', options.nodeOs.notice);
  const { notice } = options.runtime;
  if (notice) ctx.recorder.event(about, 'Normal', notice.reason, notice.message);
}

/** As upstream's deleteOrphanedMirrorPods: a picture of nothing is taken down, and what it shows is never run. */
async function deleteMirrorPod(client: Client, { metadata }: Pod): Promise<void> {
  const { name = '', namespace, uid = '' } = metadata;
  try {
    await client.delete(pods, { name, namespace }, { gracePeriodSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
  }
}

/** The pods of this node as the API server has them, and as the runtime does. */
function watchPods(
  { client, informers, nodeName, clock, log }: KubeletOptions,
  metrics: KubeletMetrics,
  objects: ObjectCache,
  all: PodWorkers,
) {
  const informer = informers.informer(pods, { fieldSelector: `spec.nodeName=${nodeName}` });
  const accept = (pod: Pod): void => {
    if (isMirrorPod(pod)) {
      deleteMirrorPod(client, pod).catch((error: unknown) =>
        log.warn({ error, pod: podText(pod) }, 'a mirror pod without a static pod was not deleted'),
      );
      return;
    }
    metrics.starts.seen(pod);
    objects.uses(pod);
    all.upsert(pod);
  };
  const removeHandler = informer.addHandler({
    added: (pod) => accept(pod),
    updated: (_old, pod) => accept(pod),
    deleted: (pod) => {
      metrics.starts.forget(podUid(pod));
      objects.forget(podUid(pod));
      all.remove(pod);
    },
  });
  informers.start();
  let swept = false;
  const pleg = startPleg(
    { runtime: metrics.cri.runtime, clock, log, metrics: metrics.node },
    {
      changed: (uid) => all.wake(uid),
      relisted: (uids) => {
        if (!informer.hasSynced()) return;
        all.sweep(uids);
        if (swept) return;
        swept = true;
        all
          .sweepNode()
          .catch((error: unknown) => log.warn({ error }, 'what old pods left on the node was not removed'));
      },
    },
  );
  return { removeHandler, pleg };
}

/** Starts everything; resolves once the node is being registered and pods are being watched. */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { client, clock, log, nodeName } = options;
  let workers: PodWorkers | undefined;
  const { cri } = options.runtime;
  const metrics = kubeletMetrics({ node: options.metrics, cri, clock, nodeName, workers: () => workers });
  const provisional = await nodeFacts(options, metrics.cri, options.server?.port ?? 10250);
  const { ctx, objects } = createContext(options, provisional, metrics, () => workers!);
  await ctx.cgroups?.ensure(
    allPodsCgroup(ctx.cgroupRoot),
    allPodsLimits(provisional.machine, provisional.reserved),
  );
  const room = { ...ctx.allocatable, pods: provisional.maxPods };
  const all = new PodWorkers(ctx, {
    admit: (pod, active) =>
      eviction?.admit(pod) ??
      beyondRuntime(pod, ctx.runtimeFeatures) ??
      admitPod(options.nodeOs, room, status.known() ?? initialNode(provisional), pod, active),
    admitResize: (pod, others) => admitResize(options.nodeOs, room, pod, others),
    lookAtNode: () => status.look(),
  });
  workers = all;
  const eviction = startEviction(options, ctx, all, metrics.evicted, () => status.poke());
  const server =
    options.server &&
    (await startKubeletServer(
      { ctx, workers: all, host: options.host, metrics: { '': metrics.node, probes: metrics.probes } },
      options.server,
    ));
  const facts = { ...provisional, kubeletPort: server?.port ?? provisional.kubeletPort };
  const { removeHandler, pleg } = watchPods(options, metrics, objects, all);
  const pressures = () => eviction?.conditions() ?? [];
  const more = options.runtime.problems;
  const health = runtimeHealth({ ctx, pleg, stats: options.host.stats, pressures, more });
  const status = startNodeStatusUpdater({ client, clock, log, recorder: ctx.recorder, facts, health });
  const stopLease = startNodeLease({ client, clock, log, nodeName });
  const stopRotation = startLogRotation({
    files: options.host.files,
    runtime: ctx.cri.runtime,
    clock,
    log,
    running: () => all.list().flatMap((w) => w.observed.containers.filter((c) => c.state === 'running')),
  });
  announce(ctx, options);
  log.info({ nodeName, port: facts.kubeletPort }, 'kubelet started');
  return {
    port: server?.port ?? 0,
    setServerTls: (tls) => server?.setTls(tls),
    stop: async () => {
      removeHandler();
      all.stop();
      ctx.prober.stop();
      objects.stop();
      ctx.status.stop();
      await Promise.all([pleg.stop(), status.stop(), stopLease(), stopRotation()]);
      await Promise.all([eviction?.stop(), server?.close()]);
      await ctx.recorder.flush();
    },
  };
}
