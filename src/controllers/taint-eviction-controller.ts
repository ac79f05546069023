// Deletes pods from nodes whose NoExecute taints they do not tolerate, or no longer.
import { nodes, pods } from '../api/generated/resources.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { withCondition } from '../apimachinery/conditions.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { rfc3339 } from '../base/clock.ts';
import { keyOf, objectKey } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { isPodTerminating } from '../component-helpers/pod-status.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import { podEvicted } from './node/eviction-metrics.ts';
import { evictionDelay } from './node/eviction-time.ts';

const podsByNode = 'nodeName';

const tell = (pod: Pod, context: ControllerContext, message: string): void =>
  context.events.event(referenceTo(pods, pod), 'Normal', 'TaintManagerEviction', message);

/** False when it was gone already. */
async function evict(pod: Pod, context: ControllerContext): Promise<boolean> {
  const { name, namespace, uid = '' } = pod.metadata;
  const key = { name: name ?? '', namespace };
  tell(pod, context, `Marking for deletion Pod ${objectKey(pod)}`);
  const conditions = withCondition(pod.status?.conditions, {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
    lastTransitionTime: rfc3339(context.clock.now()),
  });
  const body = { metadata: { uid }, status: { conditions } };
  try {
    await context.write.patch(pods, key, { type: 'strategic', body }, { subresource: 'status' });
    await context.write.delete(pods, key, { preconditions: { uid } });
    return true;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false;
    throw error;
  }
}

export function taintEvictionController(): Controller {
  /** When the taints that now hold for a pod were first seen; monotonic, since somebody may set the clock. */
  const seen = new Map<string, number>();
  return defineController({
    name: 'taint-eviction-controller',
    queue: 'noexec_taint_pod',
    serviceAccount: 'node-controller',
    for: pods,
    access: [may('delete', pods), may('patch', pods, 'status'), mayRecordEvents],
    indexes: [index(pods, podsByNode, (pod) => [pod.spec.nodeName ?? ''])],
    watches: [
      watching(nodes, (node, { old }, context) =>
        old !== undefined && semanticEqual(old.spec?.taints, node.spec?.taints)
          ? []
          : context.read(pods).byIndex(podsByNode, node.metadata.name).map(objectKey),
      ),
    ],
    async reconcile({ name, namespace }, context) {
      const key = keyOf(name, namespace);
      const pod = context.read(pods).get(name, namespace);
      const node = pod?.spec.nodeName === undefined ? undefined : context.read(nodes).get(pod.spec.nodeName);
      const moment = context.clock.monotonic();
      const seenAt = seen.get(key) ?? moment;
      const delay = evictionDelay(node?.spec?.taints, pod?.spec.tolerations);
      if (pod === undefined || isPodTerminating(pod) || delay === undefined) {
        const wasDoomed = seen.delete(key);
        if (wasDoomed && pod !== undefined && !isPodTerminating(pod))
          tell(pod, context, `Cancelling deletion of Pod ${key}`);
        return undefined;
      }
      seen.set(key, seenAt);
      const dueAt = seenAt + delay;
      if (dueAt > moment) return { requeueAfterMs: dueAt - moment };
      if (await evict(pod, context))
        podEvicted(context.metrics, { seconds: (context.clock.monotonic() - dueAt) / 1000 });
      seen.delete(key);
      return undefined;
    },
  });
}
