// What /metrics/resource tells: what metrics-server reads, by upstream's names. Pure.
import type { Labels } from '../../component-base/metrics.ts';
import type { MachineUsage } from '../../os/stats.ts';
import type { Family, Row } from './exposition.ts';

export interface ResourceUse {
  readonly pod: string;
  readonly namespace: string;
  readonly uid: string;
  readonly container: string;
  /** Undefined: its worker has not seen it yet. */
  readonly createdAtMs: number | undefined;
  /** When it was so; 0: the runtime does not say. */
  readonly timeMs: number;
  readonly cpuNs: number;
  readonly workingSetBytes: number;
}

export interface ResourceInput {
  readonly uses: readonly ResourceUse[];
  readonly node: Pick<MachineUsage, 'cpuUsageNs' | 'memoryWorkingSetBytes'>;
  readonly nowMs: number;
  readonly failed: boolean;
}

const containerOf = ({ container, namespace, pod }: ResourceUse): Labels => ({ container, namespace, pod });

export function resourceFamilies({ uses, node, nowMs, failed }: ResourceInput): Family[] {
  const containers = (of: (use: ResourceUse) => number): Row[] =>
    uses.map((use) => ({ labels: containerOf(use), value: of(use), atMs: use.timeMs || nowMs }));
  const pods = [...Map.groupBy(uses, ({ uid }) => uid).values()];
  const sums = (of: (use: ResourceUse) => number): Row[] =>
    pods.map((all) => ({
      labels: { namespace: all[0]!.namespace, pod: all[0]!.pod },
      value: all.reduce((sum, use) => sum + of(use), 0),
      atMs: nowMs,
    }));
  const starts = uses.flatMap((use): Row[] => {
    const { createdAtMs: ms } = use;
    return ms === undefined ? [] : [{ labels: containerOf(use), value: ms / 1000, atMs: nowMs }];
  });
  const cpu = (use: ResourceUse): number => use.cpuNs / 1e9;
  const memory = (use: ResourceUse): number => use.workingSetBytes;
  const now = (value: number): Row[] => [{ value, atMs: nowMs }];
  const stable = (name: string, type: Family['type'], help: string, rows: readonly Row[]): Family => ({
    name,
    type,
    help: `[STABLE] ${help}`,
    rows,
  });
  return [
    stable(
      'container_cpu_usage_seconds_total',
      'counter',
      'Cumulative cpu time consumed by the container in core-seconds',
      containers(cpu),
    ),
    stable(
      'container_memory_working_set_bytes',
      'gauge',
      'Current working set of the container in bytes',
      containers(memory),
    ),
    stable(
      'container_start_time_seconds',
      'gauge',
      'Start time of the container since unix epoch in seconds',
      starts,
    ),
    stable(
      'node_cpu_usage_seconds_total',
      'counter',
      'Cumulative cpu time consumed by the node in core-seconds',
      now(node.cpuUsageNs / 1e9),
    ),
    stable(
      'node_memory_working_set_bytes',
      'gauge',
      'Current working set of the node in bytes',
      now(node.memoryWorkingSetBytes),
    ),
    stable(
      'pod_cpu_usage_seconds_total',
      'counter',
      'Cumulative cpu time consumed by the pod in core-seconds',
      sums(cpu),
    ),
    stable('pod_memory_working_set_bytes', 'gauge', 'Current working set of the pod in bytes', sums(memory)),
    stable(
      'resource_scrape_error',
      'gauge',
      '1 if there was an error while getting container metrics, 0 otherwise',
      now(failed ? 1 : 0),
    ),
  ];
}
