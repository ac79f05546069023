// Notices nodes that fall silent, says so in their conditions and taints, and in the conditions of their pods.
import { leases, nodes, pods } from '../api/generated/resources.ts';
import type { Node, Pod } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { rfc3339 } from '../base/clock.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { isPodReady } from '../component-helpers/pod-status.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import { nodeEvicted, nodeLookedAt, showZones } from './node/health-metrics.ts';
import {
  desiredTaints,
  hasEvictionTaint,
  type NodeHealth,
  type NodeLifecycleTimes,
  nodeHealth,
  silentAt,
  unknownConditions,
} from './node/node-health.ts';
import { ZoneEvictions } from './node/zone-evictions.ts';
import { type EvictionRates, readyStatus, zoneKey } from './node/zone-state.ts';
import { Zones } from './node/zones.ts';

const leaseNamespace = 'kube-node-lease';
const podsByNode = 'nodeName';
const nodeNameValues = (pod: Pod): readonly string[] => [pod.spec.nodeName ?? ''];

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

/** Writes conditions and tells Services, when it has been silent for too long or says itself that it is not ready. */
async function noteReadiness(context: ControllerContext, before: Node, silent: boolean): Promise<Node> {
  const { name } = before.metadata;
  const conditions = silent ? unknownConditions(before, context.clock.now()) : undefined;
  const status = { ...before.status, conditions };
  const node =
    conditions === undefined
      ? before
      : await context.write.update(nodes, { ...before, status }, { subresource: 'status' });
  if (readyStatus(node) !== 'Unknown' && readyStatus(node) !== 'False') return node;
  if (readyStatus(before) === 'True') {
    const message = `Node ${name} status is now: NodeNotReady`;
    context.events.event(referenceTo(nodes, node), 'Normal', 'NodeNotReady', message);
  }
  await markPodsNotReady(context, name);
  return node;
}

async function writeTaints(context: ControllerContext, node: Node, mayEvict: boolean): Promise<void> {
  const taints = desiredTaints(node, mayEvict, context.clock.now());
  if (taints === undefined) return;
  const { name, resourceVersion } = node.metadata;
  const body = { metadata: { resourceVersion }, spec: { taints } };
  await context.write.patch(nodes, { name }, { type: 'merge', body }, { unread: true });
  if (mayEvict && !hasEvictionTaint(node)) nodeEvicted(context.metrics, zoneKey(node));
}

export function nodeLifecycleController(times: NodeLifecycleTimes, rates: EvictionRates): Controller {
  const healths = new Map<string, NodeHealth>();
  const evictions = new ZoneEvictions(rates);
  let zones = new Zones([]);
  let zonesChanged = true;

  const lookAtZones = (context: ControllerContext, moment: number): void => {
    if (!zonesChanged) return;
    zonesChanged = false;
    const { again, total } = evictions.look(zones, moment);
    if (total === 'begun') context.log.info({}, 'no node is ready: pods are evicted from none');
    if (total === 'ended')
      context.log.info({}, 'a node is ready again: pods are evicted from those that are not');
    for (const name of again) context.enqueue(name);
  };

  return defineController({
    name: 'node-lifecycle-controller',
    queue: 'node_lifecycle_controller',
    serviceAccount: 'node-controller',
    for: nodes,
    reads: [pods],
    access: [
      may('patch', nodes),
      may('update', nodes, 'status'),
      may('update', pods, 'status'),
      mayRecordEvents,
    ],
    indexes: [index(pods, podsByNode, nodeNameValues)],
    watches: [
      watching(leases, ({ metadata }) => (metadata.namespace === leaseNamespace ? [metadata.name] : [])),
      // The zones are looked at once, by whichever node comes next; those for which that changes something follow.
      watching(nodes, (node, { type }) => {
        if (type === 'deleted') zones.left(node.metadata.name);
        else if (!zones.saw(node)) return [];
        zonesChanged = true;
        return [node.metadata.name];
      }),
    ],
    start(context) {
      zones = new Zones(context.read(nodes).list());
      zonesChanged = true;
      return showZones(context.metrics, () => zones);
    },
    async reconcile({ name }, context) {
      const moment = context.clock.monotonic();
      lookAtZones(context, moment);
      const known = context.read(nodes).get(name);
      if (known === undefined) {
        healths.delete(name);
        evictions.forget(name);
        return undefined;
      }
      const now = context.clock.now();
      const renewTime = context.read(leases).get(name, leaseNamespace)?.spec?.renewTime;
      const health = nodeHealth(known, renewTime, healths.get(name), moment, now);
      healths.set(name, health);
      const silentIn = silentAt(known, health, times) - moment;
      const node = await noteReadiness(context, known, silentIn <= 0);
      nodeLookedAt(context.metrics, { seconds: (context.clock.monotonic() - moment) / 1000 });
      const turnIn = evictions.waitFor(node, moment);
      await writeTaints(context, node, turnIn === 0);
      const waits = [silentAt(node, health, times) - moment, turnIn].filter((ms) => ms > 0 && ms < Infinity);
      return { requeueAfterMs: waits.length === 0 ? undefined : Math.ceil(Math.min(...waits)) };
    },
  });
}
