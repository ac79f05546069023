// What pods use: /stats/summary, from the runtime's statistics.
import { rfc3339 } from '../../base/clock.ts';
import type { HttpResponse } from '../../wire/http-message.ts';
import { type ContainerUse, cpuRate, nodeKey, uses } from './container-uses.ts';
import { jsonResponse, type KubeletServerDeps, type RouteInput, textResponse } from './route.ts';

const cpuJson = (time: string, cores: number, total: number): object => ({
  time,
  usageNanoCores: cores,
  usageCoreNanoSeconds: total,
});

function containerJson(deps: KubeletServerDeps, use: ContainerUse): object {
  const time = rfc3339(use.timeMs || deps.ctx.clock.now());
  return {
    name: use.container,
    startTime: use.createdAtMs === undefined ? undefined : rfc3339(use.createdAtMs),
    cpu: cpuJson(time, use.nanoCores ?? 0, use.cpuNs),
    memory: { time, workingSetBytes: use.workingSetBytes, usageBytes: use.workingSetBytes },
    rootfs: { time, usedBytes: use.rootfsBytes },
  };
}

function podsJson(deps: KubeletServerDeps, all: readonly ContainerUse[]): object[] {
  const time = rfc3339(deps.ctx.clock.now());
  const byUid = Map.groupBy(all, (use) => use.uid);
  return [...byUid].map(([uid, list]) => {
    const sum = (of: (use: ContainerUse) => number): number =>
      list.reduce((total, use) => total + of(use), 0);
    const memory = sum((u) => u.workingSetBytes);
    return {
      podRef: { name: list[0]!.pod, namespace: list[0]!.namespace, uid },
      startTime: deps.workers.get(uid)?.pod.status?.startTime ?? time,
      containers: list.map((use) => containerJson(deps, use)),
      cpu: cpuJson(
        time,
        sum((u) => u.nanoCores ?? 0),
        sum((u) => u.cpuNs),
      ),
      memory: { time, workingSetBytes: memory, usageBytes: memory },
    };
  });
}

export async function statsSummary({ deps, parts }: RouteInput): Promise<HttpResponse> {
  if (parts[0] !== undefined && parts[0] !== 'summary') return textResponse(404, '404 page not found\n');
  const { ctx, host } = deps;
  const [all, usage, disk] = await Promise.all([uses(deps), host.stats.usage(), host.stats.disk('/')]);
  const time = rfc3339(ctx.clock.now());
  return jsonResponse({
    node: {
      nodeName: ctx.nodeName,
      startTime: rfc3339(ctx.machine.bootedAtMs),
      cpu: cpuJson(time, cpuRate(deps, nodeKey, usage.cpuUsageNs), usage.cpuUsageNs),
      memory: {
        time,
        availableBytes: usage.memoryAvailableBytes,
        usageBytes: usage.memoryWorkingSetBytes,
        workingSetBytes: usage.memoryWorkingSetBytes,
      },
      fs: {
        time,
        availableBytes: disk.availableBytes,
        capacityBytes: disk.capacityBytes,
        usedBytes: disk.usedBytes,
        inodes: disk.inodes,
        inodesFree: disk.inodesFree,
      },
    },
    pods: podsJson(deps, all),
  });
}
