// Nodes and pods for tests of the scheduler against the real API server: nothing runs on them.
import { nodes, pods, priorityclasses } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import type { Client } from '../../src/client/client.ts';

export async function makeReadyNode(
  client: Client,
  name: string,
  allocatable: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await client.create(nodes, {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: {},
  });
  const status = {
    allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...allocatable },
    conditions: [{ type: 'Ready', status: 'True' }],
  };
  await client.patch(nodes, { name }, { type: 'merge', body: { status } }, { subresource: 'status' });
  await client.patch(nodes, { name }, { type: 'merge', body: { spec: { taints: null } } });
}

export const makePriorityClass = (
  client: Client,
  name: string,
  value: number,
  how: { readonly preemptionPolicy?: string } = {},
): Promise<unknown> => client.create(priorityclasses, { metadata: { name }, value, ...how });

export const makeWaitingPod = (
  client: Client,
  { name, namespace, labels = {} }: { name: string; namespace: string; labels?: Record<string, string> },
  { cpu = '100m', ...spec }: { readonly cpu?: string; readonly [field: string]: unknown } = {},
): Promise<Pod> =>
  client.create(pods, {
    metadata: { name, namespace, labels },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }], ...spec },
  });
