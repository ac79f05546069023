// Measures what pods use: containers as the runtime tells it, volumes and logs as they lie on the disk. Each pod by itself: one
// with millions of files is walked apart from the others, and whom nobody can measure is told by its name (ADR 29).
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import { formatGoDuration } from '../../base/go-duration.ts';
import { within } from '../../base/within.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Beneath, FolderUsage } from '../../os/beneath.ts';
import type { RuntimeService } from '../../rpc-api/cri.ts';
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';
import { labelContainerName, labelPodUid, podText, podUid } from '../pod-format.ts';
import type { MeasuredPod } from './choose-pod.ts';
import { type PodPlaces, podFolders, usageOfFolders } from './pod-folders.ts';
import type { StarvedResource } from './thresholds.ts';
import { createLayerWatch } from './untold-layers.ts';

export interface MeasurePodsDeps extends PodPlaces {
  readonly clock: Clock;
  readonly log: Logger;
  readonly runtime: Pick<RuntimeService, 'listContainerStats'>;
  readonly beneath: Pick<Beneath, 'usage'>;
  /** False: what is to be in memory is a folder on disk. */
  readonly hasMemoryVolumes: boolean;
  /** Of other pods nothing is kept. */
  readonly active: () => readonly Pod[];
}

export interface PodMeter {
  /** Waits for no slow pod: of that it tells what was seen last. */
  measure(pods: readonly Pod[], resource: StarvedResource): Promise<MeasuredPod[]>;
  stop(): void;
}

/** A look has ten seconds for all pods; who has more files than this is walked apart. */
const quickMs = 2_000;
const quickAtOnce = 4;
/** Some ten million files that nobody has read lately, and many times that otherwise. */
const slowMs = 300_000;
const slowAtOnce = 2;
/** A walk that saw less in its time, a short one too, was held up by the disk, and not by the number of files: no pod is to blame. */
const fewInodes = 1_000;
/** The walk ends by itself; a disk that doesn't answer holds even a killed one. */
const overdueMs = 15_000;

interface Walked {
  readonly used: readonly FolderUsage[];
  readonly unmeasured?: MeasuredPod['unmeasured'];
}

interface SlowPod {
  /** By what was seen last. */
  walked: Walked;
  /** Not before: a walk is followed by a rest as long as it took. */
  nextAtMs: number;
  queued: boolean;
}

const unmeasuredText = 'Usage of local ephemeral storage could not be measured: ';

/** What is told of a walk that was cut short after `ms`. */
function shortfall(used: readonly FolderUsage[], ms: number): MeasuredPod['unmeasured'] {
  const short = used.find(({ uncounted }) => uncounted !== undefined);
  if (short === undefined) return undefined;
  if (used.some(({ uncounted }) => uncounted === 'unread'))
    return { settled: ms === slowMs, message: `${unmeasuredText}a part of it can't be read. ` };
  const inodes = used.reduce((sum, each) => sum + each.inodes, 0);
  const isNodesDoing = inodes < fewInodes;
  return {
    settled: ms === slowMs && !isNodesDoing,
    isNodesDoing,
    message: `${unmeasuredText}${inodes} files were counted in ${formatGoDuration(ms)}, and there are more. `,
  };
}

const silent: MeasuredPod['unmeasured'] = {
  settled: false,
  isNodesDoing: true,
  message: `${unmeasuredText}the runtime does not tell it. `,
};

function hiddenLayer(
  stats: readonly ContainerStats[],
  untold: ReadonlySet<string>,
): MeasuredPod['unmeasured'] {
  const hidden = stats.find(({ attributes }) => untold.has(attributes?.id ?? ''));
  const name = hidden?.attributes?.labels?.[labelContainerName];
  const text = `${unmeasuredText}the runtime can't count what container ${name} wrote. `;
  return hidden && { settled: true, message: text };
}

type StatsOf = (pod: Pod) => readonly ContainerStats[] | undefined;
type LayerWatch = ReturnType<typeof createLayerWatch>;

interface RuntimeTells {
  readonly of: StatsOf;
  /** Ids of containers whose layer it does not count. */
  readonly untold: ReadonlySet<string>;
}

/** The runtime answers for all or not at all: when one container spoils that, each pod is asked for by itself. */
async function askRuntime(
  { runtime, log }: MeasurePodsDeps,
  pods: readonly Pod[],
  watch: LayerWatch,
): Promise<RuntimeTells> {
  let untold: ReadonlySet<string> = new Set();
  const byUid = new Map<string, readonly ContainerStats[]>();
  try {
    const all = await runtime.listContainerStats();
    untold = watch(all);
    const grouped = Map.groupBy(all, (stats) => stats.attributes?.labels?.[labelPodUid]);
    for (const pod of pods) byUid.set(podUid(pod), grouped.get(podUid(pod)) ?? []);
  } catch (error) {
    log.warn({ error }, 'the runtime does not tell what all containers use; each pod is asked for by itself');
    await fewAtOnce(pods, quickAtOnce, async (pod) => {
      try {
        const labelSelector = { [labelPodUid]: podUid(pod) };
        byUid.set(podUid(pod), await runtime.listContainerStats({ labelSelector }));
      } catch (failure) {
        log.warn({ pod: podText(pod), error: failure }, 'the runtime does not tell what a pod uses');
      }
    });
  }
  return { of: (pod) => byUid.get(podUid(pod)), untold };
}

/** Walks slow pods a few at a time, in the order in which they were asked for. */
function slowWalks({ clock, log }: MeasurePodsDeps, walk: (pod: Pod, ms: number) => Promise<Walked>) {
  const slow = new Map<string, SlowPod>();
  const queue: Pod[] = [];
  let underWay = 0;

  async function walkNext(): Promise<void> {
    const pod = queue.shift();
    const entry = pod && slow.get(podUid(pod));
    if (!pod || !entry) return;
    const began = clock.monotonic();
    const walked = await walk(pod, slowMs);
    const tookMs = clock.monotonic() - began;
    entry.walked = walked;
    entry.queued = false;
    entry.nextAtMs = clock.monotonic() + tookMs;
    if (walked.unmeasured) log.warn({ pod: podText(pod), inMs: tookMs }, walked.unmeasured.message);
    else if (tookMs < quickMs / 2) slow.delete(podUid(pod));
  }
  async function lane(): Promise<void> {
    while (queue.length > 0) await walkNext();
    underWay--;
  }

  return {
    last: (pod: Pod): Walked | undefined => slow.get(podUid(pod))?.walked,
    ask(pod: Pod, walked: Walked): void {
      const uid = podUid(pod);
      const entry = slow.get(uid) ?? { walked, nextAtMs: clock.monotonic(), queued: false };
      slow.set(uid, entry);
      if (entry.queued || clock.monotonic() < entry.nextAtMs) return;
      entry.queued = true;
      queue.push(pod);
      if (underWay >= slowAtOnce) return;
      underWay++;
      void lane();
    },
    keepOnly(pods: readonly Pod[]): void {
      const uids = new Set(pods.map(podUid));
      for (const uid of slow.keys()) if (!uids.has(uid)) slow.delete(uid);
    },
    clear: (): void => void queue.splice(0),
  };
}

export function createPodMeter(deps: MeasurePodsDeps): PodMeter {
  const stopped = new AbortController();

  /** Of the last measurement: a slow walk begins between two. */
  let told: RuntimeTells = { of: () => undefined, untold: new Set() };
  const watch = createLayerWatch();
  const foldersOf = (pod: Pod): ReturnType<typeof podFolders> => podFolders(pod, deps, told.of(pod) ?? []);

  /** Never throws: who can't be walked for the node's sake is unmeasured, and that is not the pod's doing. */
  async function walk(pod: Pod, ms: number): Promise<Walked> {
    const { volumes, logs, kept } = foldersOf(pod);
    const folders = [...[...volumes, ...logs].map(({ dir }) => dir), ...kept];
    try {
      const walking = deps.beneath.usage(folders, ms, stopped.signal);
      const used = await within(deps.clock, ms + overdueMs, walking);
      return { used, unmeasured: shortfall(used, ms) };
    } catch (error) {
      if (!stopped.signal.aborted)
        deps.log.warn({ pod: podText(pod), error }, 'what a pod uses was not measured');
      const message = `${unmeasuredText}the walk failed. `;
      return { used: [], unmeasured: { settled: false, isNodesDoing: true, message } };
    }
  }
  const slow = slowWalks(deps, walk);

  async function walkAll(pods: readonly Pod[]): Promise<Map<Pod, Walked>> {
    const walks = new Map<Pod, Walked>();
    await fewAtOnce(pods, quickAtOnce, async (pod) => {
      const known = slow.last(pod);
      const walked = known ?? (await walk(pod, quickMs));
      walks.set(pod, walked);
      if (known || walked.unmeasured) slow.ask(pod, walked);
    });
    return walks;
  }

  function measured(pod: Pod, walked: Walked | undefined): MeasuredPod {
    const stats = told.of(pod);
    // Of memory the runtime tells all the same.
    const untold = walked ? told.untold : new Set<string>();
    const usage = usageOfFolders(foldersOf(pod), walked?.used ?? [], stats ?? [], untold);
    return {
      pod,
      usage: { ...usage, memoryIsDisk: !deps.hasMemoryVolumes },
      unmeasured: stats ? (hiddenLayer(stats, untold) ?? walked?.unmeasured) : (walked?.unmeasured ?? silent),
    };
  }

  return {
    measure: async (pods, resource) => {
      slow.keepOnly(deps.active());
      if (pods.length === 0) return [];
      told = await askRuntime(deps, pods, watch);
      const walks = resource === 'memory' ? undefined : await walkAll(pods);
      return pods.map((pod) => measured(pod, walks?.get(pod)));
    },
    stop: () => {
      slow.clear();
      stopped.abort();
    },
  };
}
