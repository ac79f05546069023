// Makes the claims of generic ephemeral volumes: each pod's own, which go with it.
import { persistentvolumeclaims, pods } from '../api/generated/resources.ts';
import type { Pod, Volume } from '../api/generated/types/core-v1.ts';
import { keyOf, objectKey } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { declareMetrics } from '../component-base/metrics.ts';
import { claimOf, foreignClaim } from '../component-helpers/pod-claims.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import { controllerReference } from '../controller-runtime/owner-reference.ts';

const podsByClaim = 'ephemeralClaim';

const ephemeralVolumes = ({ spec }: Pod): Volume[] =>
  (spec.volumes ?? []).filter(({ ephemeral }) => ephemeral !== undefined);
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const declared = declareMetrics((metrics) => {
  const help = 'Number of PersistentVolumeClaim creation requests';
  return {
    created: metrics.counter('ephemeral_volume_controller_create_total', help, []),
    failed: metrics.counter('ephemeral_volume_controller_create_failures_total', help, []),
  };
});

/** Throws Error with upstream's text. */
async function ensureClaim(context: ControllerContext, pod: Pod, volume: Volume): Promise<void> {
  const { namespace = '' } = pod.metadata;
  const name = claimOf(pod, volume) ?? '';
  const there = context.read(persistentvolumeclaims).get(name, namespace);
  if (there !== undefined) {
    const foreign = foreignClaim(pod, there);
    if (foreign !== undefined) throw new Error(foreign);
    return;
  }
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template === undefined) return; // the API server lets in none without it
  const { annotations, labels } = template.metadata ?? {};
  const metadata = {
    name,
    namespace,
    ...(annotations === undefined ? {} : { annotations }),
    ...(labels === undefined ? {} : { labels }),
    ownerReferences: [controllerReference(pods, pod)],
  };
  const { created, failed } = declared(context.metrics);
  created.inc({});
  try {
    await context.write.create(persistentvolumeclaims, { metadata, spec: template.spec });
  } catch (error) {
    failed.inc({});
    throw new Error(`create PVC ${name}: ${textOf(error)}`, { cause: error });
  }
}

export const ephemeralVolumeController: Controller = defineController({
  name: 'ephemeral-volume-controller',
  queue: 'ephemeral_volume',
  serviceAccount: 'ephemeral-volume-controller',
  for: pods,
  reads: [persistentvolumeclaims],
  access: [may('create', persistentvolumeclaims), mayRecordEvents],
  indexes: [
    index(pods, podsByClaim, (pod) =>
      ephemeralVolumes(pod).map((volume) => keyOf(claimOf(pod, volume) ?? '', pod.metadata.namespace)),
    ),
  ],
  watches: [
    // Somebody deleted it, or one of another's that was in the way: the pod's is made again.
    watching(persistentvolumeclaims, ({ metadata }, { type }, context) =>
      type === 'deleted'
        ? context.read(pods).byIndex(podsByClaim, keyOf(metadata.name, metadata.namespace)).map(objectKey)
        : [],
    ),
  ],
  async reconcile({ name, namespace }, context) {
    const pod = context.read(pods).get(name, namespace);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
    for (const volume of ephemeralVolumes(pod)) {
      try {
        await ensureClaim(context, pod, volume);
      } catch (error) {
        const message = `ephemeral volume ${volume.name}: ${textOf(error)}`;
        context.events.event(referenceTo(pods, pod), 'Warning', 'FailedBinding', message);
        throw new Error(`pod ${objectKey(pod)}, ${message}`, { cause: error });
      }
    }
    return undefined;
  },
});
