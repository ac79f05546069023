// One pod of a DaemonSet on each node that it fits.
import { controllerrevisions, daemonsets, nodes, pods } from '../api/generated/resources.ts';
import type { ControllerRevision, DaemonSet } from '../api/generated/types/apps-v1.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isEverything, selectorFrom } from '../apimachinery/label-selector.ts';
import { keyOf, objectKey } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { type Access, may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  watching,
} from '../controller-runtime/define-controller.ts';
import {
  type DaemonPlan,
  type DaemonView,
  daemonPlan,
  daemonStatus,
  updatePlan,
} from './daemon/daemon-plan.ts';
import { FailedPods, holdFailedPods } from './daemon/failed-pods.ts';
import { podSpecFor } from './daemon/node-fit.ts';
import {
  mayKeepRevisions,
  type RevisionOwner,
  revisionHashLabel,
  syncRevisions,
  trimRevisions,
} from './daemon/revision-history.ts';
import { templateGeneration, templateGenerationLabel } from './daemon/template-generation.ts';
import { msUntilNextAvailable } from './workload/availability.ts';
import { claim } from './workload/claim.ts';
import { changePods, podFromTemplate } from './workload/pod-control.ts';
import { sameStatus } from './workload/same-status.ts';

const burst = 250;

async function carryOut(
  context: ControllerContext,
  ds: DaemonSet,
  plan: DaemonPlan,
  hash: string,
): Promise<void> {
  const owner = { resource: daemonsets, object: ds };
  const { template } = ds.spec;
  for (const pod of plan.failed)
    context.events.event(
      referenceTo(daemonsets, ds),
      pod.status?.phase === 'Failed' ? 'Warning' : 'Normal',
      pod.status?.phase === 'Failed' ? 'FailedDaemonPod' : 'SucceededDaemonPod',
      `Found ${pod.status?.phase?.toLowerCase()} daemon pod ${objectKey(pod)} on node ${pod.spec.nodeName}, will try to ${pod.status?.phase === 'Failed' ? 'kill' : 'delete'} it`,
    );
  const targets = plan.create.slice(0, burst);
  const podFor = (index: number): ReturnType<typeof podFromTemplate> => {
    const generation = templateGeneration(ds);
    const labels = {
      ...template.metadata?.labels,
      ...(generation === undefined ? {} : { [templateGenerationLabel]: generation }),
      [revisionHashLabel]: hash,
    };
    const spec = podSpecFor(template.spec ?? { containers: [] }, targets[index] ?? '');
    return podFromTemplate(owner, { ...template, metadata: { ...template.metadata, labels }, spec });
  };
  await changePods(context, owner, {
    create: targets.length,
    pod: podFor,
    remove: plan.remove.slice(0, burst),
  });
}

const isNothing = (plan: DaemonPlan): boolean => plan.create.length === 0 && plan.remove.length === 0;

const hashOf = ({ metadata }: ControllerRevision): string => metadata.labels?.[revisionHashLabel] ?? '';

/** Pods where there must be some, and none where there must not; else what a new template replaces. */
async function makeAndRemove(
  context: Parameters<typeof carryOut>[0],
  key: string,
  view: DaemonView,
  failedPods: FailedPods,
): Promise<void> {
  const { ds } = view;
  const { plan, waitMs } = holdFailedPods(
    daemonPlan(view),
    `${ds.metadata.uid}/${ds.metadata.generation}`,
    failedPods,
    context.clock.monotonic(),
  );
  if (waitMs !== undefined) context.enqueueAfter(key, waitMs);
  if (!isNothing(plan)) return carryOut(context, ds, plan, view.hash);
  if ((ds.spec.updateStrategy?.type ?? 'RollingUpdate') !== 'RollingUpdate') return;
  const update = updatePlan(view);
  if (!isNothing(update)) await carryOut(context, ds, update, view.hash);
}

const access: readonly Access[] = [
  may('get', daemonsets),
  may('update', daemonsets, 'status'),
  may(['create', 'delete', 'patch'], pods),
  mayKeepRevisions,
  mayRecordEvents,
];

export function daemonSetController(): Controller {
  const failedPods = new FailedPods();
  return defineController({
    name: 'daemonset-controller',
    queue: 'daemonset',
    serviceAccount: 'daemon-set-controller',
    for: daemonsets,
    owns: [pods, controllerrevisions],
    selectorOf: (ds) => ds.spec.selector,
    access,
    watches: [
      watching(nodes, (node, { old }, context) =>
        old !== undefined &&
        semanticEqual(old.metadata.labels, node.metadata.labels) &&
        semanticEqual(old.spec?.taints, node.spec?.taints)
          ? []
          : context.read(daemonsets).list().map(objectKey),
      ),
    ],
    async reconcile({ name, namespace }, context) {
      const key = keyOf(name, namespace);
      const ds = context.read(daemonsets).get(name, namespace);
      if (ds === undefined) {
        context.expectations.forget(key);
        return undefined;
      }
      const selector = selectorFrom(ds.spec.selector);
      if (isEverything(selector)) {
        const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
        context.events.event(referenceTo(daemonsets, ds), 'Warning', 'SelectingAll', message);
        return undefined;
      }
      if (ds.metadata.deletionTimestamp !== undefined) return undefined;
      const request = { ownerResource: daemonsets, owner: ds, selector };
      const revisions = await claim(context, { ...request, resource: controllerrevisions });
      const owner: RevisionOwner = {
        resource: daemonsets,
        object: ds,
        template: ds.spec.template,
        collisionCount: ds.status?.collisionCount,
        historyLimit: ds.spec.revisionHistoryLimit ?? 10,
        hashLabel: revisionHashLabel,
      };
      const history = await syncRevisions(context, owner, revisions);
      const mayChange = context.expectations.satisfied(key);
      const claimed: readonly Pod[] = await claim(context, { ...request, resource: pods });
      const view: DaemonView = {
        ds,
        nodes: context.read(nodes).list(),
        pods: claimed,
        hash: hashOf(history.current),
        now: context.clock.now(),
      };
      let failure: unknown;
      if (mayChange)
        try {
          await makeAndRemove(context, key, view, failedPods);
        } catch (error) {
          failure = error;
        }
      const inUse = new Set(claimed.map((pod) => pod.metadata.labels?.[revisionHashLabel] ?? ''));
      await trimRevisions(context, owner, history.old, (revision) => inUse.has(hashOf(revision)));
      const status = daemonStatus(view, history.collisionCount);
      if (!sameStatus(status, ds.status))
        await context.write.update(daemonsets, { ...ds, status }, { subresource: 'status' });
      if (failure !== undefined) throw failure;
      return { requeueAfterMs: msUntilNextAvailable(claimed, ds.spec.minReadySeconds ?? 0, view.now) };
    },
  });
}
