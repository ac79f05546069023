// The addresses of a pod: its sandbox's, or the node's own where it shares the node's network.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { KubeletContext } from '../kubelet-context.ts';
import { type ObservedPod, readySandbox } from '../observed-pod.ts';

export const podIPsOf = (
  ctx: Pick<KubeletContext, 'nodeOs' | 'nodeIPs'>,
  pod: Pod,
  observed: ObservedPod,
): readonly string[] => (ctx.nodeOs.hostNetwork(pod) ? ctx.nodeIPs : (readySandbox(observed)?.ips ?? []));
