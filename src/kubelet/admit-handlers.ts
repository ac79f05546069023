// Whether the node takes a pod that the scheduler sent: its system's refusals, and room. Pure (upstream: lifecycle/predicate).
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { NodeOs, Rejection } from './node-os/node-os.ts';
import { podDemand } from './resources/qos.ts';

export interface NodeRoom {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  readonly pods: number;
}

const outOf = (what: string, requested: number, used: number, capacity: number): Rejection => ({
  reason: `OutOf${what}`,
  message: `Node didn't have enough resource: ${what}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
});

export function admitPod(
  nodeOs: NodeOs,
  room: NodeRoom,
  pod: Pod,
  active: readonly Pod[],
): Rejection | undefined {
  const refused = nodeOs.admit(pod);
  if (refused) return refused;
  if (active.length + 1 > room.pods) return outOf('pods', 1, active.length, room.pods);
  const wanted = podDemand(pod);
  const demands = active.map(podDemand);
  const used = (of: (d: ReturnType<typeof podDemand>) => number): number =>
    demands.reduce((sum, d) => sum + of(d), 0);
  const cpu = used((d) => d.milliCpu);
  if (wanted.milliCpu > 0 && cpu + wanted.milliCpu > room.milliCpu) {
    return outOf('cpu', wanted.milliCpu, cpu, room.milliCpu);
  }
  const memory = used((d) => d.memoryBytes);
  if (wanted.memoryBytes > 0 && memory + wanted.memoryBytes > room.memoryBytes) {
    return outOf('memory', wanted.memoryBytes, memory, room.memoryBytes);
  }
  return undefined;
}
