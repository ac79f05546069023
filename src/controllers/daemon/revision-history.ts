// Controller revisions of a DaemonSet or StatefulSet: each template it had, by number.
import { controllerrevisions } from '../../api/generated/resources.ts';
import type { ControllerRevision } from '../../api/generated/types/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import type { ObjectMeta } from '../../api/generated/types/meta-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { int64, int64Max, readJson } from '../../apimachinery/serializer/json-numbers.ts';
import { type Access, may } from '../../controller-runtime/access.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { controllerReference, type Owned } from '../../controller-runtime/owner-reference.ts';
import { plainTemplate, storedTemplate } from '../workload/plain-template.ts';
import { canonicalJson, templateHash } from '../workload/template-hash.ts';

/** Whoever calls what is here declares this. */
export const mayKeepRevisions: Access = may(
  ['create', 'delete', 'get', 'patch', 'update'],
  controllerrevisions,
);

export interface RevisionOwner {
  readonly resource: ResourceRef;
  readonly object: Owned & { readonly metadata: Pick<ObjectMeta, 'annotations'> };
  readonly template: PodTemplateSpec;
  readonly collisionCount: number | undefined;
  readonly historyLimit: number;
  /** The label of a revision that carries its hash. */
  readonly hashLabel: string;
}

/** Of pods: what revision they have. Of the revisions of a DaemonSet, too. */
export const revisionHashLabel = 'controller-revision-hash';

/** What kubectl rollout undo applies as a patch. */
const revisionData = (template: PodTemplateSpec): Record<string, unknown> => ({
  spec: { template: { ...template, $patch: 'replace' } },
});

/** In the order of Go's maps: upstream's controllers compare its bytes with those of the template. */
const inGoOrder = (data: Record<string, unknown>): Record<string, unknown> =>
  readJson(canonicalJson(data)) as Record<string, unknown>;

/** The template that a revision holds. */
export function templateOf(revision: ControllerRevision): PodTemplateSpec | undefined {
  const held = revision.data as { readonly spec?: { readonly template?: PodTemplateSpec } } | undefined;
  if (held?.spec?.template === undefined) return undefined;
  const { $patch: _, ...template } = held.spec.template as PodTemplateSpec & { readonly $patch?: string };
  return template;
}

export const sortRevisions = (list: readonly ControllerRevision[]): ControllerRevision[] =>
  [...list].sort(
    (a, b) =>
      Number(a.revision > b.revision) - Number(a.revision < b.revision) ||
      (a.metadata.name < b.metadata.name ? -1 : 1),
  );

/** One more than all of these, or the highest number that there is. */
function numberAfter(revisions: readonly ControllerRevision[]): number | bigint {
  const highest = revisions.reduce((most, { revision }) => (revision > most ? BigInt(revision) : most), 0n);
  return int64(highest < int64Max ? highest + 1n : highest);
}

export interface RevisionState {
  readonly current: ControllerRevision;
  readonly old: readonly ControllerRevision[];
  /** Set when a name was taken by another content. */
  readonly collisionCount: number | undefined;
}

/** The newest that holds this template. */
export function revisionOfTemplate(
  sorted: readonly ControllerRevision[],
  template: PodTemplateSpec,
): ControllerRevision | undefined {
  const data = canonicalJson(revisionData(storedTemplate(template)));
  const found = sorted.findLast((revision) => canonicalJson(revision.data) === data);
  if (found !== undefined || sorted.length === 0) return found;
  const plain = canonicalJson(revisionData(plainTemplate(template)));
  return sorted.findLast(({ data }) => {
    const held = (data as { spec?: { template?: PodTemplateSpec } } | undefined)?.spec?.template;
    return canonicalJson({ spec: { template: plainTemplate(held) } }) === plain;
  });
}

/** Finds or makes the revision of the present template, and gives it the highest number. */
export async function syncRevisions(
  context: ControllerContext,
  owner: RevisionOwner,
  known: readonly ControllerRevision[],
): Promise<RevisionState> {
  const sorted = sortRevisions(known);
  const current = revisionOfTemplate(sorted, owner.template);
  const old = sorted.filter((revision) => revision !== current);
  const next = numberAfter(old);
  const { collisionCount } = owner;
  if (current === undefined) return createRevision(context, owner, old, next);
  if (current.revision >= next) return { current, old, collisionCount };
  const updated = await context.write.update(controllerrevisions, { ...current, revision: next });
  return { current: updated, old, collisionCount };
}

async function createRevision(
  context: ControllerContext,
  owner: RevisionOwner,
  old: readonly ControllerRevision[],
  revision: number | bigint,
): Promise<RevisionState> {
  const { object, resource } = owner;
  const template = storedTemplate(owner.template);
  const { name, namespace, annotations } = object.metadata;
  let { collisionCount } = owner;
  for (;;) {
    const hash = templateHash(template, collisionCount);
    const wanted: ControllerRevision = {
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels: { ...template.metadata?.labels, [owner.hashLabel]: hash },
        // `rollout history` reads the cause of a change there.
        ...(annotations === undefined ? {} : { annotations }),
        ownerReferences: [controllerReference(resource, object)],
      },
      data: inGoOrder(revisionData(template)),
      revision,
    };
    try {
      return { current: await context.write.create(controllerrevisions, wanted), old, collisionCount };
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error;
      const existing = await context.write.get(controllerrevisions, {
        name: wanted.metadata.name,
        namespace,
      });
      if (canonicalJson(existing.data) === canonicalJson(wanted.data))
        return { current: existing, old, collisionCount };
      collisionCount = (collisionCount ?? 0) + 1;
    }
  }
}

/** Deletes the oldest that no pod has, beyond the limit. */
export async function trimRevisions(
  context: ControllerContext,
  owner: RevisionOwner,
  old: readonly ControllerRevision[],
  isInUse: (revision: ControllerRevision) => boolean,
): Promise<void> {
  const unused = sortRevisions(old).filter((revision) => !isInUse(revision));
  for (const { metadata } of unused.slice(0, Math.max(0, unused.length - owner.historyLimit)))
    await context.write
      .delete(controllerrevisions, { name: metadata.name, namespace: metadata.namespace })
      .catch((error: unknown) => {
        if (!isStatusError(error, 'NotFound')) throw error;
      });
}
