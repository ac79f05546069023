// Results of probes, and who runs them, as the rest of the kubelet sees it.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { ObservedPod } from '../observed-pod.ts';

export interface Prober {
  /** Starts and ends probes as containers come and go. */
  update(pod: Pod, observed: ObservedPod, podIP: string): void;
  /** No more probes; `readiness` false unless a container is still probed. */
  remove(uid: string): void;
  /** Liveness and startup end, readiness goes on: the pod is terminating. */
  stopLiveness(uid: string): void;
  liveness(containerId: string): boolean | undefined;
  readiness(containerId: string): boolean | undefined;
  startup(containerId: string): boolean | undefined;
  stop(): void;
}
