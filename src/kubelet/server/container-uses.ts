// What containers use, from the runtime's statistics.
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';
import { labelContainerName, labelPodName, labelPodNamespace, labelPodUid } from '../pod-format.ts';
import type { KubeletServerDeps } from './route.ts';

export interface ContainerUse {
  readonly pod: string;
  readonly namespace: string;
  readonly uid: string;
  readonly container: string;
  readonly timeMs: number;
  readonly cpuNs: number;
  readonly nanoCores: number | undefined;
  readonly workingSetBytes: number;
  readonly rootfsBytes: number;
}

function useOf(stats: ContainerStats): ContainerUse {
  const label = (name: string): string => stats.attributes?.labels?.[name] ?? '';
  return {
    pod: label(labelPodName),
    namespace: label(labelPodNamespace),
    uid: label(labelPodUid),
    container: label(labelContainerName),
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

export async function uses(deps: KubeletServerDeps): Promise<ContainerUse[]> {
  const all = (await deps.ctx.cri.runtime.listContainerStats()).map(useOf);
  const known = samples.get(deps.ctx);
  const there = new Set([nodeKey, ...all.map(keyOf)]);
  for (const key of known?.keys() ?? []) if (!there.has(key)) known?.delete(key);
  return all.map((use) => ({
    ...use,
    nanoCores: use.nanoCores || cpuRate(deps, keyOf(use), use.cpuNs),
  }));
}
