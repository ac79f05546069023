// What pods use: /stats/summary and /metrics/resource, from the runtime's statistics.
import { rfc3339 } from '../../base/clock.ts';
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';
import type { HttpResponse } from '../../wire/http-message.ts';
import { labelContainerName, labelPodName, labelPodNamespace, labelPodUid } from '../pod-format.ts';
import { jsonResponse, type KubeletServerDeps, type RouteInput, textResponse } from './route.ts';

interface ContainerUse {
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

function rateOf(deps: KubeletServerDeps, key: string, cpuNs: number): number {
  const known = samples.get(deps.ctx) ?? new Map<string, Sample>();
  samples.set(deps.ctx, known);
  const now = deps.ctx.clock.now();
  const last = known.get(key);
  if (last && now - last.atMs < minRateMs) return last.nanoCores;
  const rate =
    last && cpuNs >= last.cpuNs ? Math.round(((cpuNs - last.cpuNs) * 1000) / (now - last.atMs)) : 0;
  known.set(key, { cpuNs, atMs: now, nanoCores: rate });
  return rate;
}

async function uses(deps: KubeletServerDeps): Promise<ContainerUse[]> {
  const all = (await deps.ctx.cri.runtime.listContainerStats()).map(useOf);
  return all.map((use) => ({
    ...use,
    nanoCores: use.nanoCores || rateOf(deps, `${use.uid}/${use.container}`, use.cpuNs),
  }));
}

const cpuJson = (time: string, cores: number, total: number): object => ({
  time,
  usageNanoCores: cores,
  usageCoreNanoSeconds: total,
});

function containerJson(deps: KubeletServerDeps, use: ContainerUse): object {
  const time = rfc3339(use.timeMs || deps.ctx.clock.now());
  return {
    name: use.container,
    startTime: time,
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
      startTime: time,
      cpu: cpuJson(time, rateOf(deps, '', usage.cpuUsageNs), usage.cpuUsageNs),
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

const quoted = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

function metric(name: string, help: string, type: string, rows: readonly string[]): string {
  return `# HELP ${name} [STABLE] ${help}\n# TYPE ${name} ${type}\n${rows.map((r) => `${name}${r}\n`).join('')}`;
}

export async function metricsResource({ deps, parts }: RouteInput): Promise<HttpResponse> {
  if (parts[0] !== 'resource') return textResponse(404, '404 page not found\n');
  const [all, usage] = await Promise.all([uses(deps), deps.host.stats.usage()]);
  const now = deps.ctx.clock.now();
  const rows = (of: (use: ContainerUse) => number): string[] =>
    all.map(
      (use) =>
        `{container=${quoted(use.container)},namespace=${quoted(use.namespace)},pod=${quoted(use.pod)}} ${of(use)} ${use.timeMs || now}`,
    );
  const pods = [...Map.groupBy(all, (use) => use.uid).values()];
  const podRows = (of: (use: ContainerUse) => number): string[] =>
    pods.map((list) => {
      const total = list.reduce((sum, use) => sum + of(use), 0);
      return `{namespace=${quoted(list[0]!.namespace)},pod=${quoted(list[0]!.pod)}} ${total} ${now}`;
    });
  const text = [
    metric(
      'container_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the container in core-seconds',
      'counter',
      rows((u) => u.cpuNs / 1e9),
    ),
    metric(
      'container_memory_working_set_bytes',
      'Current working set of the container in bytes',
      'gauge',
      rows((u) => u.workingSetBytes),
    ),
    metric(
      'node_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the node in core-seconds',
      'counter',
      [` ${usage.cpuUsageNs / 1e9} ${now}`],
    ),
    metric('node_memory_working_set_bytes', 'Current working set of the node in bytes', 'gauge', [
      ` ${usage.memoryWorkingSetBytes} ${now}`,
    ]),
    metric(
      'pod_cpu_usage_seconds_total',
      'Cumulative cpu time consumed by the pod in core-seconds',
      'counter',
      podRows((u) => u.cpuNs / 1e9),
    ),
    metric(
      'pod_memory_working_set_bytes',
      'Current working set of the pod in bytes',
      'gauge',
      podRows((u) => u.workingSetBytes),
    ),
    metric(
      'resource_scrape_error',
      '1 if there was an error while getting container metrics, 0 otherwise',
      'gauge',
      [' 0'],
    ),
  ].join('');
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: Buffer.from(text),
  };
}
