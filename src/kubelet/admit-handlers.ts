// Whether the node takes a pod that the scheduler sent: its system's refusals, and room. Pure (upstream: lifecycle/predicate).
import { podRequestAmounts } from '../api/core/v1/pod-resources.ts';
import type { Node, Pod } from '../api/generated/types/core-v1.ts';
import { quantityValue, tryParseQuantity } from '../apimachinery/quantity.ts';
import { hostPortsOf, UsedHostPorts } from '../component-helpers/host-ports.ts';
import { matchesRequiredNodeAffinity } from '../component-helpers/node-affinity.ts';
import { findUntoleratedTaint } from '../component-helpers/taints.ts';
import type { NodeOs, Rejection } from './node-os/node-os.ts';
import type { ResizeRefusal } from './pod-resize.ts';
import { podDemand } from './resources/qos.ts';

export interface NodeRoom {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  readonly pods: number;
}

/** What the API says of the node: labels, taints, and resources that others gave it. */
export type KnownNode = Pick<Node, 'metadata' | 'spec' | 'status'>;

const outOf = (what: string, requested: number, used: number, capacity: number): Rejection => ({
  reason: `OutOf${what}`,
  message: `Node didn't have enough resource: ${what}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
});
const failed = (predicate: string, why: string): Rejection => ({
  reason: predicate,
  message: `Predicate ${predicate} failed: ${why}`,
});

export function admitPod(
  nodeOs: Pick<NodeOs, 'admit'>,
  room: NodeRoom,
  node: KnownNode,
  pod: Pod,
  active: readonly Pod[],
): Rejection | undefined {
  const refused = nodeOs.admit(pod);
  if (refused) return refused;
  if (active.length + 1 > room.pods) return outOf('pods', 1, active.length, room.pods);
  return (
    lacking(room, pod, active) ??
    lackingOthers(node, pod, active) ??
    elsewhere(node, pod) ??
    takenPort(pod, active) ??
    untolerated(node, pod)
  );
}

/** Whether a look at the API's node, as it is now, may change the answer. */
export const dependsOnNode = ({ reason }: Rejection): boolean =>
  reason === 'NodeAffinity' || reason === 'TaintToleration' || reason.includes('/');

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

/** Of what the node does not tell itself what it has is not asked for here: devices of a whole cluster, for one. */
function lackingOthers({ status }: KnownNode, pod: Pod, active: readonly Pod[]): Rejection | undefined {
  for (const [name, amount] of podRequestAmounts(pod)) {
    const there =
      name === 'cpu' || name === 'memory' ? undefined : tryParseQuantity(status?.allocatable?.[name]);
    const wanted = quantityValue(amount);
    if (there === undefined || wanted === 0) continue;
    const used = active.reduce((sum, one) => {
      const theirs = podRequestAmounts(one).get(name);
      return sum + (theirs ? quantityValue(theirs) : 0);
    }, 0);
    const capacity = quantityValue(there);
    if (used + wanted > capacity) return outOf(name, wanted, used, capacity);
  }
  return undefined;
}

const elsewhere = ({ metadata: { name = '', labels } }: KnownNode, pod: Pod): Rejection | undefined =>
  matchesRequiredNodeAffinity(pod, { metadata: { name, labels } })
    ? undefined
    : failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");

function takenPort(pod: Pod, active: readonly Pod[]): Rejection | undefined {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return undefined;
  const used = new UsedHostPorts();
  for (const one of active) used.add(hostPortsOf(one));
  return wanted.some((port) => used.has(port))
    ? failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
    : undefined;
}

/** Only of those that end pods: who was sent despite another is here by somebody's will. */
const untolerated = ({ spec }: KnownNode, pod: Pod): Rejection | undefined =>
  findUntoleratedTaint(spec.taints, pod.spec.tolerations, ({ effect }) => effect === 'NoExecute')
    ? failed('TaintToleration', "node(s) had taints that the pod didn't tolerate")
    : undefined;

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
