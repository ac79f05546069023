// Rolls a Deployment's pods from one template to the next by replica sets.
import { deployments, pods, replicasets } from '../api/generated/resources.ts';
import type { ReplicaSet } from '../api/generated/types/apps-v1.ts';
import { withConditionLast } from '../apimachinery/conditions.ts';
import { isEverything, selectorFrom } from '../apimachinery/label-selector.ts';
import { keyOf } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import {
  controllerIndex,
  controllerIndexValues,
  controllerOf,
} from '../controller-runtime/owner-reference.ts';
import { msUntilDeadline, pausedCondition } from './deployment/deployment-status.ts';
import { desiredOf, isActive, replicasOf } from './deployment/replica-counts.ts';
import { Rollout } from './deployment/rollout.ts';
import { claim } from './workload/claim.ts';

export const deploymentController: Controller = defineController({
  name: 'deployment-controller',
  queue: 'deployment',
  serviceAccount: 'deployment-controller',
  for: deployments,
  owns: [replicasets],
  selectorOf: (d) => d.spec.selector,
  access: [
    may('get', deployments),
    may('update', deployments, 'status'),
    may(['create', 'delete', 'get', 'patch', 'update'], replicasets),
    mayRecordEvents,
  ],
  indexes: [{ resource: pods, name: controllerIndex, values: controllerIndexValues }],
  watches: [
    // Recreate waits for the last pod of the old kind to be gone.
    watching(pods, (pod, { type }, context) => {
      const owner = controllerOf(pod);
      if (type === 'added' || owner?.kind !== 'ReplicaSet') return [];
      const { namespace } = pod.metadata;
      const rs = context.read(replicasets).get(owner.name, namespace);
      const deployment = rs === undefined ? undefined : controllerOf(rs);
      if (deployment?.kind !== 'Deployment') return [];
      const d = context.read(deployments).get(deployment.name, namespace);
      return d?.spec.strategy?.type === 'Recreate' ? [keyOf(d.metadata.name, namespace)] : [];
    }),
  ],
  async reconcile({ name, namespace }, context) {
    let d = context.read(deployments).get(name, namespace);
    if (d === undefined) return undefined;
    const selector = selectorFrom(d.spec.selector);
    if (isEverything(selector)) {
      context.events.event(
        referenceTo(deployments, d),
        'Warning',
        'SelectingAll',
        'This deployment is selecting all pods. A non-empty selector is required.',
      );
      return undefined;
    }
    const owned = await claim(context, {
      ownerResource: deployments,
      owner: d,
      selector,
      resource: replicasets,
    });
    const deleting = d.metadata.deletionTimestamp !== undefined;
    const paused = deleting ? undefined : pausedCondition(d, context.clock.now());
    if (paused !== undefined) {
      const conditions = withConditionLast(d.status?.conditions, paused);
      const next = { ...d, status: { ...d.status, conditions } };
      d = await context.write.update(deployments, next, { subresource: 'status' });
    }
    const rollout = new Rollout(context, d, owned);
    const podsOf = (rs: ReplicaSet) => context.read(pods).byIndex(controllerIndex, rs.metadata.uid ?? '');
    const desired = replicasOf(d);
    const isScaling = owned.some((rs) => isActive(rs) && (desiredOf(rs) ?? desired) !== desired);

    let kind: 'rollout' | 'counts' = 'rollout';
    if (deleting) kind = 'counts';
    else if (d.spec.paused === true || isScaling) {
      kind = 'counts';
      await rollout.syncRevision(false);
      await rollout.scaleToDesired();
      if (d.spec.paused === true) await rollout.cleanUp();
    } else if (d.spec.strategy?.type === 'Recreate') await rollout.recreate(podsOf);
    else await rollout.rollingUpdate();

    const status = await rollout.writeStatus(kind);
    const now = context.clock.now();
    return {
      requeueAfterMs: kind === 'rollout' ? msUntilDeadline(rollout.deployment, status, now) : undefined,
    };
  },
});
