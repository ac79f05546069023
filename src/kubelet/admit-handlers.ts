// Whether the node takes a pod that the scheduler sent: its system's refusals, and room. Pure (upstream: lifecycle/predicate).
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { NodeOs, Rejection } from './node-os/node-os.ts';
import type { ResizeRefusal } from './pod-resize.ts';
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
  return lacking(room, pod, active);
}

function lacking(room: NodeRoom, pod: Pod, active: readonly Pod[]): Rejection | undefined {
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

/** Whether a pod that runs may have what it asks for now, beside the others (upstream: the resize handlers of the allocation manager). */
export function admitResize(
  nodeOs: Pick<NodeOs, 'containerResources'>,
  room: NodeRoom,
  pod: Pod,
  others: readonly Pod[],
): ResizeRefusal | undefined {
  const infeasible = (message: string): ResizeRefusal => ({ reason: 'Infeasible', message });
  if (nodeOs.containerResources === undefined)
    return infeasible('In-place pod resize is not supported on Windows');
  const { milliCpu, memoryBytes } = podDemand(pod);
  const never = (what: string, requested: number, capacity: number): ResizeRefusal =>
    infeasible(`Node didn't have enough capacity: ${what}, requested: ${requested}, capacity: ${capacity}`);
  if (memoryBytes > room.memoryBytes) return never('memory', memoryBytes, room.memoryBytes);
  if (milliCpu > room.milliCpu) return never('cpu', milliCpu, room.milliCpu);
  const rejection = lacking(room, pod, others);
  return rejection && { reason: 'Deferred', message: rejection.message };
}
