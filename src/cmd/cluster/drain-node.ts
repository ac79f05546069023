// Empties a node before it goes, as `kubectl drain` does: no new pods, nothing for pods that nobody would make again, evictions that budgets may hold up, and a wait for the end.
import { setTimeout as delay } from 'node:timers/promises';
import { nodes, pods } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { Client } from '../../client/client.ts';

interface DrainedNode {
  readonly client: Client;
  readonly node: string;
}

export interface DrainOptions extends DrainedNode {
  /** Pods are deleted at once, whatever a budget says, and without a controller, too. */
  readonly force: boolean;
  readonly timeoutMs: number;
  readonly detail: (text: string) => void;
}

interface Asked {
  readonly atMs: number;
  readonly why: string | undefined;
}

const lookEveryMs = 100;
const againAfterMs = 1_000;

const keyOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;
/** A DaemonSet's would come back at once, those of the node's own files can't be evicted: they go with the node. */
const goesWithNode = ({ metadata }: Pod): boolean =>
  metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined ||
  metadata.ownerReferences?.some((owner) => owner.controller === true && owner.kind === 'DaemonSet') === true;

/** Nobody makes it anew elsewhere. One that has ended, or was told to, is lost already. */
const isUnmanaged = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase !== 'Succeeded' &&
  status?.phase !== 'Failed' &&
  !metadata.ownerReferences?.some((owner) => owner.controller === true);

/** Before any pod is told to go, in the words of `kubectl drain`. */
function refuseUnmanaged(node: string, left: readonly Pod[]): void {
  const unmanaged = left.filter(isUnmanaged);
  if (unmanaged.length === 0) return;
  throw Object.assign(
    new Error(
      `cannot delete Pods that declare no controller (use --force to override): ${unmanaged.map(keyOf).join(', ')}`,
    ),
    {
      next: `kubectl delete them, and the same again; or --force, which deletes all pods of ${node} at once; or kubectl uncordon ${node}, which takes no new pods now`,
    },
  );
}

/** Told to go, and kept by somebody who may never let go of it: that needs no node. */
const isKeptOnly = ({ metadata }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers?.length ?? 0) > 0;

const unlessGone = (error: unknown): undefined => {
  if (isStatusError(error, 'NotFound')) return undefined;
  throw error;
};

const podsOf = async ({ client, node }: DrainedNode): Promise<readonly Pod[]> =>
  (await client.list(pods, { fieldSelector: `spec.nodeName=${node}` })).items;

/** The server's reason when it refuses for now. */
async function evict({ client }: DrainedNode, { metadata }: Pod): Promise<string | undefined> {
  const { name, namespace = '' } = metadata;
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  try {
    await client.createSubresource(pods, { name, namespace }, 'eviction', eviction);
  } catch (error) {
    if (isStatusError(error, 'TooManyRequests')) return error.message;
    unlessGone(error);
  }
  return undefined;
}

const deleteNow = ({ client }: DrainedNode, { metadata: { name, namespace = '' } }: Pod): Promise<void> =>
  client.delete(pods, { name, namespace }, { gracePeriodSeconds: 0 }).catch(unlessGone);

/** Once; again after a while where the server refused. */
async function evictAll(
  options: DrainOptions,
  left: readonly Pod[],
  asked: Map<string, Asked>,
): Promise<void> {
  refuseUnmanaged(options.node, left);
  for (const pod of left) {
    const before = asked.get(keyOf(pod));
    const isDue =
      before === undefined || (before.why !== undefined && performance.now() - before.atMs > againAfterMs);
    if (pod.metadata.deletionTimestamp === undefined && isDue)
      asked.set(keyOf(pod), { atMs: performance.now(), why: await evict(options, pod) });
  }
}

/** False when there is no such Node. Throws Error with the next step when pods stay. */
export async function drainNode(options: DrainOptions): Promise<boolean> {
  const { client, detail, force, node, timeoutMs } = options;
  const cordon = { type: 'merge', body: { spec: { unschedulable: true } } } as const;
  if ((await client.patch(nodes, { name: node }, cordon).catch(unlessGone)) === undefined) return false;
  const until = performance.now() + timeoutMs;
  const asked = new Map<string, Asked>();
  for (;;) {
    const left = (await podsOf(options)).filter((pod) => !goesWithNode(pod) && !(force && isKeptOnly(pod)));
    if (left.length === 0) return true;
    if (force) for (const pod of left) await deleteNow(options, pod);
    else await evictAll(options, left, asked);
    const reasons = left.map((pod) => `${keyOf(pod)} (${asked.get(keyOf(pod))?.why ?? 'ends'})`);
    detail(`${left.length} ${left.length === 1 ? 'pod' : 'pods'} left`);
    if (performance.now() > until)
      throw Object.assign(
        new Error(
          `${node} still has pods after ${timeoutMs / 1000} s, and takes no new ones: ${reasons.join('; ')}`,
        ),
        { next: `the same with --force, which deletes them at once, or kubectl uncordon ${node}` },
      );
    await delay(lookEveryMs);
  }
}

/** With the pods that went with it. */
export async function deleteNode(options: DrainedNode): Promise<void> {
  await options.client.delete(nodes, { name: options.node }).catch(unlessGone);
  for (const pod of await podsOf(options)) await deleteNow(options, pod);
}
