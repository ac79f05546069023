// Pods and nodes for tests, with only what matters said.
import type { Node, NodeSpec, Pod, PodSpec } from '../../api/generated/types/core-v1.ts';
import { NodeInfo, podInfoOf } from '../framework/node-info.ts';

let serial = 0;

export function makePod(
  name: string,
  options: {
    readonly cpu?: string;
    readonly memory?: string;
    readonly labels?: Record<string, string>;
    readonly spec?: Partial<PodSpec>;
    readonly node?: string;
  } = {},
): Pod {
  const requests = {
    ...(options.cpu ? { cpu: options.cpu } : {}),
    ...(options.memory ? { memory: options.memory } : {}),
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}-${serial++}`, labels: options.labels ?? {} },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests } }],
      ...(options.node ? { nodeName: options.node } : {}),
      ...options.spec,
    },
  };
}

export function makeNode(
  name: string,
  options: {
    readonly cpu?: string;
    readonly memory?: string;
    readonly pods?: string;
    readonly labels?: Record<string, string>;
    readonly spec?: Partial<NodeSpec>;
    readonly extra?: Record<string, string>;
  } = {},
): Node {
  const allocatable = {
    cpu: options.cpu ?? '4',
    memory: options.memory ?? '8Gi',
    pods: options.pods ?? '110',
    ...options.extra,
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid: `uid-${name}`,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...options.labels },
    },
    spec: { ...options.spec },
    status: { allocatable, capacity: allocatable },
  };
}

export function nodeWith(node: Node, ...podsOnIt: readonly Pod[]): NodeInfo {
  const info = new NodeInfo(node);
  for (const pod of podsOnIt) info.addPod(podInfoOf(pod));
  return info;
}
