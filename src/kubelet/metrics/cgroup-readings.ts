// What the control groups of a node have used: the machine, all pods together, each pod, its sandbox and its containers.
import { fewAtOnce } from '../../base/few-at-once.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Cgroups, CgroupUsage } from '../../os/cgroups.ts';
import type { HostStats, InterfaceTraffic } from '../../os/stats.ts';
import { podNamespace } from '../pod-format.ts';
import type { PodWorker } from '../pod-worker.ts';
import { allPodsCgroup, podCgroup } from '../resources/qos.ts';

/** As cAdvisor names them: a container's own name, its cgroup, its image, its id in the runtime, and its pod. */
export interface GroupLabels {
  readonly container: string;
  readonly id: string;
  readonly image: string;
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
}

interface Group {
  readonly labels: GroupLabels;
  readonly startedAtMs?: number;
  /** It holds the network of its pod. */
  readonly isSandbox?: boolean;
}

export interface GroupReading extends Group {
  readonly usage: CgroupUsage;
  readonly processes: number;
  readonly traffic: readonly InterfaceTraffic[];
}

export interface ReadingDeps {
  readonly cgroups: Pick<Cgroups, 'usages' | 'members'>;
  readonly cgroupRoot: string;
  readonly stats: Pick<HostStats, 'traffic'>;
  readonly log: Pick<Logger, 'warn'>;
  readonly workers: readonly Pick<PodWorker, 'pod' | 'observed'>[];
}

const nobody = { container: '', image: '', name: '', namespace: '', pod: '' };
/** A group has a dozen files; a node has hundreds of groups. */
const groupsAtOnce = 8;

function groupsOf({ pod, observed }: Pick<PodWorker, 'pod' | 'observed'>, root: string): Group[] {
  const id = podCgroup(pod, root);
  const labels = { ...nobody, namespace: podNamespace(pod), pod: pod.metadata.name ?? '' };
  const of = (name: string) => ({ ...labels, id: `${id}/${name}`, name });
  return [
    { labels: { ...labels, id } },
    ...observed.sandboxes
      .filter(({ ready }) => ready)
      .map((sandbox) => ({ labels: of(sandbox.id), isSandbox: true, startedAtMs: sandbox.createdAtMs })),
    ...observed.containers
      .filter(({ state }) => state === 'running')
      .map(({ id, name, image, startedAtMs }) => ({
        labels: { ...of(id), container: name, image },
        startedAtMs,
      })),
  ];
}

export interface GroupReadings {
  readonly all: readonly GroupReading[];
  /** Some that are there are not among them. */
  readonly failed: boolean;
}

async function readGroup(
  { cgroups, stats }: ReadingDeps,
  usageOf: ReturnType<Cgroups['usages']>,
  group: Group,
): Promise<GroupReading> {
  const { id } = group.labels;
  const [usage, pids] = await Promise.all([usageOf(id), cgroups.members(id)]);
  const [first] = pids;
  const traffic = group.isSandbox && first !== undefined ? await stats.traffic(first) : [];
  return { ...group, usage, processes: pids.length, traffic };
}

/** Of groups that no controller knows, nothing: they have gone, or are to come. One that can't be read takes none of the others with it. */
export async function readGroups(deps: ReadingDeps): Promise<GroupReadings> {
  const { cgroupRoot, cgroups, workers, log } = deps;
  const groups: Group[] = [
    ...['/', allPodsCgroup(cgroupRoot)].map((id) => ({ labels: { ...nobody, id } })),
    ...workers.flatMap((worker) => groupsOf(worker, cgroupRoot)),
  ];
  let failed = false;
  const usageOf = cgroups.usages();
  const readings = await fewAtOnce(groups, groupsAtOnce, async (group) => {
    try {
      return await readGroup(deps, usageOf, group);
    } catch (error) {
      failed = true;
      log.warn({ error, group: group.labels.id }, 'what a control group uses could not be read');
      return undefined;
    }
  });
  const isKnown = (reading: GroupReading | undefined): reading is GroupReading =>
    reading?.usage.cpu !== undefined || reading?.usage.memory !== undefined;
  return { all: readings.filter(isKnown), failed };
}
