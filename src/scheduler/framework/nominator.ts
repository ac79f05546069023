// Pods that wait for a node which preemption has made room on: others of no higher priority are not to take it from them.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type PodInfo, podInfoOf } from './node-info.ts';

const nominatedIn = (pod: Pod): string => pod.status?.nominatedNodeName ?? '';
const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';

const nobody: readonly PodInfo[] = [];

export class Nominator {
  readonly #nodeOf = new Map<string, string>();
  /** By node, then by uid. */
  readonly #pods = new Map<string, Map<string, PodInfo>>();

  /** Decided here, before the API server knows; '' takes a nomination back. */
  nominate(pod: Pod, node: string): void {
    this.forget(pod);
    if (node === '') return;
    const uid = uidOf(pod);
    this.#nodeOf.set(uid, node);
    const there = this.#pods.get(node) ?? new Map<string, PodInfo>();
    this.#pods.set(node, there.set(uid, podInfoOf(pod)));
  }

  /** A pod as the API server has it. */
  saw(pod: Pod): void {
    this.nominate(pod, nominatedIn(pod));
  }

  /** True when its node is free for others now. */
  updated(old: Pod, pod: Pod): boolean {
    const before = this.nodeOf(old);
    // What was decided here is not yet written: it still holds.
    const isUnwritten = nominatedIn(old) === '' && nominatedIn(pod) === '';
    this.forget(old);
    this.nominate(pod, isUnwritten ? before : nominatedIn(pod));
    return before !== '' && this.nodeOf(pod) !== before;
  }

  /** The pod is placed or gone. True when it had a nomination. */
  forget(pod: Pod): boolean {
    const uid = uidOf(pod);
    const node = this.#nodeOf.get(uid);
    if (node === undefined) return false;
    this.#nodeOf.delete(uid);
    const there = this.#pods.get(node);
    there?.delete(uid);
    if (there?.size === 0) this.#pods.delete(node);
    return true;
  }

  /** '' when there is none. */
  nodeOf(pod: Pod): string {
    return this.#nodeOf.get(uidOf(pod)) ?? '';
  }

  on(node: string): readonly PodInfo[] {
    const there = this.#pods.get(node);
    return there === undefined ? nobody : [...there.values()];
  }
}
