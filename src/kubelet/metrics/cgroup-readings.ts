// What the control groups of a node have used: the machine, all pods together, each pod, its sandbox and its containers.
import { fewAtOnce } from '../../base/few-at-once.ts';
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
  readonly oomKills: number | undefined;
  readonly traffic: readonly InterfaceTraffic[];
}

export interface ReadingDeps {
  readonly cgroups: Pick<Cgroups, 'usage' | 'members' | 'oomKills'>;
  readonly cgroupRoot: string;
  readonly stats: Pick<HostStats, 'traffic'>;
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

/** Of groups that no controller knows, nothing: they have gone, or are to come. */
export async function readGroups(deps: ReadingDeps): Promise<GroupReading[]> {
  const { cgroups, cgroupRoot, stats, workers } = deps;
  const all: Group[] = [
    ...['/', allPodsCgroup(cgroupRoot)].map((id) => ({ labels: { ...nobody, id } })),
    ...workers.flatMap((worker) => groupsOf(worker, cgroupRoot)),
  ];
  const readings = await fewAtOnce(all, groupsAtOnce, async (group) => {
    const { id } = group.labels;
    const [usage, pids, oomKills] = await Promise.all([
      cgroups.usage(id),
      cgroups.members(id),
      cgroups.oomKills(id),
    ]);
    const [first] = pids;
    const traffic = group.isSandbox && first !== undefined ? await stats.traffic(first) : [];
    return { ...group, usage, processes: pids.length, oomKills, traffic };
  });
  return readings.filter(({ usage }) => usage.cpu !== undefined || usage.memory !== undefined);
}
