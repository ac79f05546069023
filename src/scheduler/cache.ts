// The scheduler's picture of the cluster: nodes, their pods, and pods that it has placed but not yet seen bound.
import type { Node, Pod } from '../api/generated/types/core-v1.ts';
import { systemOf } from '../component-helpers/pod-system.ts';
import { NodeInfo, podInfoOf } from './framework/node-info.ts';
import { type Snapshot, snapshotOf } from './framework/snapshot.ts';

export class SchedulerCache {
  readonly #nodes = new Map<string, NodeInfo>();
  /** Pods of nodes that are not (yet) known, by node name. */
  readonly #homeless = new Map<string, Map<string, Pod>>();
  /** uid → node of every pod that takes resources, assumed ones included. */
  readonly #placed = new Map<string, string>();
  readonly #assumed = new Set<string>();
  #snapshot: Snapshot | undefined;

  setNode(node: Node): void {
    const known = this.#nodes.get(node.metadata.name);
    if (known) {
      if (systemOf(known.node) !== systemOf(node)) this.#snapshot = undefined;
      known.setNode(node);
      return;
    }
    const info = new NodeInfo(node);
    this.#nodes.set(info.name, info);
    for (const pod of this.#homeless.get(info.name)?.values() ?? []) info.addPod(podInfoOf(pod));
    this.#homeless.delete(info.name);
    this.#snapshot = undefined;
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (!info) return;
    this.#nodes.delete(name);
    if (info.pods.size > 0)
      this.#homeless.set(name, new Map([...info.pods].map(([uid, one]) => [uid, one.pod])));
    this.#snapshot = undefined;
  }

  /** A pod that has a node, as the API server says. Ends its being assumed. */
  addPod(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    this.#assumed.delete(uid);
    this.#put(pod, uid);
  }

  removePod(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    this.#assumed.delete(uid);
    this.#take(uid);
  }

  /** Counts a pod on a node before the API server knows. */
  assume(pod: Pod, node: string): void {
    const uid = pod.metadata.uid ?? '';
    this.#assumed.add(uid);
    this.#put({ ...pod, spec: { ...pod.spec, nodeName: node } }, uid);
  }

  /** Binding failed. */
  forget(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (this.#assumed.delete(uid)) this.#take(uid);
  }

  isPlaced(pod: Pod): boolean {
    return this.#placed.has(pod.metadata.uid ?? '');
  }

  sizes(): { readonly nodes: number; readonly pods: number; readonly assumed_pods: number } {
    return { nodes: this.#nodes.size, pods: this.#placed.size, assumed_pods: this.#assumed.size };
  }

  /** Valid until the next change; the scheduling cycle is synchronous. */
  snapshot(): Snapshot {
    this.#snapshot ??= snapshotOf([...this.#nodes.values()]);
    return this.#snapshot;
  }

  #put(pod: Pod, uid: string): void {
    const node = pod.spec.nodeName ?? '';
    if (this.#placed.get(uid) !== node) this.#take(uid);
    this.#placed.set(uid, node);
    const info = this.#nodes.get(node);
    if (info) info.addPod(podInfoOf(pod));
    else {
      const waiting = this.#homeless.get(node) ?? new Map<string, Pod>();
      this.#homeless.set(node, waiting.set(uid, pod));
    }
  }

  #take(uid: string): void {
    const node = this.#placed.get(uid);
    if (node === undefined) return;
    this.#placed.delete(uid);
    this.#nodes.get(node)?.removePod(uid);
    this.#homeless.get(node)?.delete(uid);
  }
}
