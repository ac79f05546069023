// Notices nodes that fall silent, says so in their conditions and taints, and in the conditions of their pods.
import { events, leases, nodes, pods } from '../api/generated/resources.ts';
import type { Node, Pod } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { rfc3339 } from '../base/clock.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { isPodReady } from '../component-helpers/pod-status.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import {
  desiredTaints,
  type NodeHealth,
  type NodeLifecycleTimes,
  nodeHealth,
  silentAt,
  unknownConditions,
} from './node/node-health.ts';
import { findCondition } from './workload/conditions.ts';

const leaseNamespace = 'kube-node-lease';
const podsByNode = 'nodeName';
const nodeNameValues = (pod: Pod): readonly string[] => [pod.spec.nodeName ?? ''];

const readyStatus = (node: Node): string | undefined =>
  findCondition(node.status?.conditions, 'Ready')?.status;

/** Services must not send to pods that nobody watches over any more. */
async function markPodsNotReady(context: ControllerContext, nodeName: string): Promise<void> {
  for (const pod of context.read(pods).byIndex(podsByNode, nodeName)) {
    if (!isPodReady(pod)) continue;
    const lastTransitionTime = rfc3339(context.clock.now());
    const conditions = (pod.status?.conditions ?? []).map((condition) =>
      condition.type === 'Ready' ? { ...condition, status: 'False', lastTransitionTime } : condition,
    );
    try {
      await context.write.update(
        pods,
        { ...pod, status: { ...pod.status, conditions } },
        { subresource: 'status' },
      );
    } catch (error) {
      if (isStatusError(error, 'NotFound')) continue;
      throw error;
    }
    context.events.event(referenceTo(pods, pod), 'Warning', 'NodeNotReady', 'Node is not ready');
  }
}

export function nodeLifecycleController(times: NodeLifecycleTimes): Controller {
  const healths = new Map<string, NodeHealth>();
  const hasHealthyNode = (context: ControllerContext): boolean =>
    context
      .read(nodes)
      .list()
      .some((node) => readyStatus(node) === 'True');

  return defineController({
    name: 'node-lifecycle-controller',
    serviceAccount: 'node-controller',
    for: nodes,
    reads: [pods],
    writes: [nodes, pods, events],
    indexes: [index(pods, podsByNode, nodeNameValues)],
    watches: [
      watching(leases, ({ metadata }) => (metadata.namespace === leaseNamespace ? [metadata.name] : [])),
      // The first node that is healthy again ends the time in which none is evicted from; the last one begins it.
      watching(nodes, (node, { old }, context) =>
        old !== undefined && readyStatus(old) !== readyStatus(node)
          ? context
              .read(nodes)
              .list()
              .map((other) => other.metadata.name)
          : [],
      ),
    ],
    async reconcile({ name }, context) {
      let node = context.read(nodes).get(name);
      if (node === undefined) {
        healths.delete(name);
        return undefined;
      }
      const now = context.clock.now();
      const moment = context.clock.monotonic();
      const renewTime = context.read(leases).get(name, leaseNamespace)?.spec?.renewTime;
      const health = nodeHealth(node, renewTime, healths.get(name), moment, now);
      healths.set(name, health);
      const silent = silentAt(node, health, times) <= moment;
      const wasReady = readyStatus(node) === 'True';
      const conditions = silent ? unknownConditions(node, now) : undefined;
      if (conditions !== undefined) {
        const status = { ...node.status, conditions };
        node = await context.write.update(nodes, { ...node, status }, { subresource: 'status' });
      }
      if (readyStatus(node) === 'Unknown' || readyStatus(node) === 'False') {
        if (wasReady) {
          const message = `Node ${name} status is now: NodeNotReady`;
          context.events.event(referenceTo(nodes, node), 'Normal', 'NodeNotReady', message);
        }
        await markPodsNotReady(context, name);
      }
      const taints = desiredTaints(node, hasHealthyNode(context), now);
      if (taints !== undefined) {
        const body = { metadata: { resourceVersion: node.metadata.resourceVersion }, spec: { taints } };
        await context.write.patch(nodes, { name }, { type: 'merge', body });
      }
      return { requeueAfterMs: silent ? undefined : Math.max(1, silentAt(node, health, times) - moment) };
    },
  });
}
