// What containers use, from the runtime's statistics; of each container of a name the last one alone, as who asks knows them by name.
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';
import type { ResourceUse } from '../metrics/resource-families.ts';
import { newestStats } from '../newest-stats.ts';
import {
  labelContainerName,
  labelPodName,
  labelPodNamespace,
  labelPodUid,
  podNamespace,
} from '../pod-format.ts';
import type { PodWorker } from '../pod-worker.ts';
import type { KubeletServerDeps } from './route.ts';

export interface ContainerUse extends ResourceUse {
  readonly nanoCores: number | undefined;
  readonly rootfsBytes: number;
}

function useOf(stats: ContainerStats, createdAtMs: number | undefined): ContainerUse {
  const label = (name: string): string => stats.attributes?.labels?.[name] ?? '';
  return {
    pod: label(labelPodName),
    namespace: label(labelPodNamespace),
    uid: label(labelPodUid),
    container: label(labelContainerName),
    createdAtMs,
    timeMs: Math.floor((stats.cpu?.timestamp ?? 0) / 1e6),
    cpuNs: stats.cpu?.usageCoreNanoSeconds?.value ?? 0,
    nanoCores: stats.cpu?.usageNanoCores?.value,
    workingSetBytes: stats.memory?.workingSetBytes?.value ?? 0,
    rootfsBytes: stats.writableLayer?.usedBytes?.value ?? 0,
  };
}

interface Sample {
  readonly cpuNs: number;
  readonly atMs: number;
  readonly nanoCores: number;
}

/** Two readings make a rate; containerd 1.6 gives none itself. */
const samples = new WeakMap<object, Map<string, Sample>>();
const minRateMs = 1000;

export function cpuRate(deps: KubeletServerDeps, key: string, cpuNs: number): number {
  const known = samples.get(deps.ctx) ?? new Map<string, Sample>();
  samples.set(deps.ctx, known);
  const now = deps.ctx.clock.monotonic();
  const last = known.get(key);
  if (last && now - last.atMs < minRateMs) return last.nanoCores;
  const rate =
    last && cpuNs >= last.cpuNs ? Math.round(((cpuNs - last.cpuNs) * 1000) / (now - last.atMs)) : 0;
  known.set(key, { cpuNs, atMs: now, nanoCores: rate });
  return rate;
}

/** Of no container. */
export const nodeKey = '';
const keyOf = (use: ContainerUse): string => `${use.uid}/${use.container}`;

/** Of the pods of the API. One that is still being taken away is hidden by a new one of its name. */
function visibleUses(workers: readonly PodWorker[], stats: readonly ContainerStats[]): ContainerUse[] {
  const byName = new Map(workers.map((w) => [`${podNamespace(w.pod)}/${w.pod.metadata.name}`, w]));
  const byUid = new Map([...byName.values()].map((w) => [w.uid, w]));
  return newestStats(stats).flatMap((each) => {
    const { id, labels } = each.attributes ?? {};
    const worker = byUid.get(labels?.[labelPodUid] ?? '');
    const seen = worker?.observed.containers.find((c) => c.id === id);
    return worker ? [useOf(each, seen?.createdAtMs)] : [];
  });
}

export async function uses(deps: KubeletServerDeps): Promise<ContainerUse[]> {
  const all = visibleUses(deps.workers.list(), await deps.ctx.cri.runtime.listContainerStats());
  const known = samples.get(deps.ctx);
  const there = new Set([nodeKey, ...all.map(keyOf)]);
  for (const key of known?.keys() ?? []) if (!there.has(key)) known?.delete(key);
  return all.map((use) => ({
    ...use,
    nanoCores: use.nanoCores || cpuRate(deps, keyOf(use), use.cpuNs),
  }));
}
