// Creates and deletes the pods of a controller, with upstream's events and expectations.
import { pods } from '../../api/generated/resources.ts';
import type { ObjectReference, Pod, PodSpec } from '../../api/generated/types/core-v1.ts';
import type { ObjectMeta } from '../../api/generated/types/meta-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { objectKey } from '../../client/cache/object-store.ts';
import { referenceTo } from '../../client/event-recorder.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { controllerReference, type Owned } from '../../controller-runtime/owner-reference.ts';
import { isNamespaceTerminating } from './namespace-terminating.ts';

/** A PodTemplateSpec; its metadata has no name. */
export interface PodTemplate {
  readonly metadata?: Partial<ObjectMeta> | undefined;
  readonly spec?: PodSpec | undefined;
}

/** Names end in five random characters and stay within 63. */
const maxGenerateNameLength = 58;

export interface PodOwner {
  readonly resource: ResourceRef;
  readonly object: Owned;
}

const aboutOwner = ({ resource, object }: PodOwner): ObjectReference => referenceTo(resource, object);
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function podFromTemplate(
  owner: PodOwner,
  template: PodTemplate,
): Omit<Pod, 'metadata'> & { metadata: object } {
  const { name, namespace } = owner.object.metadata;
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return {
    metadata: {
      generateName: `${name.slice(0, maxGenerateNameLength - 1)}-`,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [controllerReference(owner.resource, owner.object)],
    },
    spec: template.spec ?? { containers: [] },
  };
}

/** Creates one pod. A refusal is an event at the owner, and is thrown. */
async function createPod(
  context: ControllerContext,
  owner: PodOwner,
  pod: Omit<Pod, 'metadata'> & { metadata: object },
): Promise<Pod> {
  try {
    const created = await context.write.create(pods, pod);
    context.events.event(
      aboutOwner(owner),
      'Normal',
      'SuccessfulCreate',
      `Created pod: ${created.metadata.name}`,
    );
    return created;
  } catch (error) {
    // That is not the owner's fault.
    if (!isNamespaceTerminating(error))
      context.events.event(
        aboutOwner(owner),
        'Warning',
        'FailedCreate',
        `Error creating: ${reasonOf(error)}`,
      );
    throw error;
  }
}

/** Returns false when it was gone already. */
async function deletePod(context: ControllerContext, owner: PodOwner, pod: Pod): Promise<boolean> {
  const { name, namespace } = pod.metadata;
  try {
    await context.write.delete(pods, { name, namespace });
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false;
    context.events.event(aboutOwner(owner), 'Warning', 'FailedDelete', `Error deleting: ${reasonOf(error)}`);
    throw error;
  }
  context.events.event(aboutOwner(owner), 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
  return true;
}

/** In batches that double while all goes well, so that a quota that is full costs one call and not a hundred. */
async function slowStart(count: number, one: (index: number) => Promise<void>): Promise<number> {
  let done = 0;
  for (let batch = 1; done < count; batch *= 2) {
    const size = Math.min(batch, count - done);
    const from = done;
    const results = await Promise.allSettled(Array.from({ length: size }, (_, i) => one(from + i)));
    done += results.filter((result) => result.status === 'fulfilled').length;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw Object.assign(new SlowStartError(done, failed.reason));
  }
  return done;
}

/** Some of a batch failed; the rest was not tried. */
class SlowStartError extends Error {
  readonly succeeded: number;
  constructor(succeeded: number, cause: unknown) {
    super(reasonOf(cause), { cause });
    this.name = 'SlowStartError';
    this.succeeded = succeeded;
  }
}

/** Of one namespace: while so many wait for a node, more would wait with them. */
const maxUnscheduled = 5_000;
const lookAgainMs = 1_000;

const isUnscheduled = ({ spec, status, metadata }: Pod): boolean =>
  spec.nodeName === undefined &&
  metadata.deletionTimestamp === undefined &&
  status?.phase !== 'Succeeded' &&
  status?.phase !== 'Failed';

/** How many of `wanted` may be made now. For what is left the owner is looked at again. */
export function podsAllowed(context: ControllerContext, { object }: PodOwner, wanted: number): number {
  if (wanted <= 0) return 0;
  const { pace } = context;
  const { namespace = '' } = object.metadata;
  const crowded =
    pace.isBusy(namespace) &&
    context.read(pods).list(namespace).filter(isUnscheduled).length >= maxUnscheduled;
  const allowed = crowded ? 0 : pace.take(namespace, wanted);
  if (allowed < wanted) context.enqueueAfter(objectKey(object), lookAgainMs);
  return allowed;
}

/** Creates `count` pods, or as many as are allowed now, and deletes `victims`, keeping the owner's expectations true whatever fails. */
export async function changePods(
  context: ControllerContext,
  owner: PodOwner,
  change: {
    readonly create: number;
    pod(index: number): ReturnType<typeof podFromTemplate>;
    readonly remove: readonly Pod[];
  },
): Promise<void> {
  const key = objectKey(owner.object);
  const { expectations, pace } = context;
  const uid = (pod: Pod): string => pod.metadata.uid ?? '';
  const create = podsAllowed(context, owner, change.create);
  expectations.expectCreations(key, create);
  expectations.expectDeletions(key, change.remove.map(uid));
  const removals = Promise.allSettled(
    change.remove.map(async (pod) => {
      try {
        if (!(await deletePod(context, owner, pod))) expectations.deletionObserved(key, uid(pod));
      } catch (error) {
        expectations.deletionObserved(key, uid(pod));
        throw error;
      }
    }),
  );
  let tried = 0;
  let failure: unknown;
  try {
    await slowStart(create, async (index) => {
      tried += 1;
      try {
        await createPod(context, owner, change.pod(index));
      } catch (error) {
        expectations.creationObserved(key);
        throw error;
      }
    });
  } catch (error) {
    failure = error instanceof SlowStartError ? error.cause : error;
    for (let skipped = tried; skipped < create; skipped++) expectations.creationObserved(key);
    pace.giveBack(owner.object.metadata.namespace ?? '', create - tried);
  }
  const failedRemoval = (await removals).find((result) => result.status === 'rejected');
  if (failure !== undefined && !isNamespaceTerminating(failure)) throw failure;
  if (failedRemoval !== undefined) throw failedRemoval.reason;
}
