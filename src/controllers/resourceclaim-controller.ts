// Makes the resource claims that pods ask for by templates, and frees claims of pods that are done.
import { pods, resourceclaims, resourceclaimtemplates } from '../api/generated/resources.ts';
import type { Pod, PodResourceClaim } from '../api/generated/types/core-v1.ts';
import type { ResourceClaim, ResourceClaimConsumerReference } from '../api/generated/types/resource-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { keyOf } from '../client/cache/object-store.ts';
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
import { controllerIndex, controllerIndexValues } from '../controller-runtime/owner-reference.ts';
import {
  claimFor,
  claimNameOf,
  finalizersLeft,
  isClaimOf,
  isMadeFor,
  isPodDone,
  isUnused,
  owningPod,
  reservedBy,
  withoutConsumers,
} from './resourceclaim/claim-plan.ts';

const podsByClaim = 'resourceClaim';
const podsByTemplate = 'resourceClaimTemplate';
/** Keys of pods among those of claims: no name has a colon. */
const podPrefix = 'pod:';
const podKey = ({ metadata }: Pod): string => keyOf(`${podPrefix}${metadata.name}`, metadata.namespace);

const entriesOf = (pod: Pod): readonly PodResourceClaim[] => pod.spec.resourceClaims ?? [];
const claimsOf = (pod: Pod): string[] =>
  entriesOf(pod).flatMap((entry) => {
    const known = claimNameOf(pod, entry);
    return typeof known === 'string' ? [] : [keyOf(known.name, pod.metadata.namespace)];
  });
const templatesOf = (pod: Pod): string[] =>
  entriesOf(pod).flatMap(({ resourceClaimTemplateName: name }) =>
    name === undefined ? [] : [keyOf(name, pod.metadata.namespace)],
  );
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Claims that were made and that the informer may not show yet: by the uid of their pod and the entry. */
type Made = Map<string, ResourceClaim>;

/** The name of the claim that was made, or found, for an entry that has none; undefined when it needs none. */
async function ensureClaim(
  context: ControllerContext,
  made: Made,
  pod: Pod,
  entry: PodResourceClaim,
): Promise<string | undefined> {
  const { namespace = '', uid = '' } = pod.metadata;
  const known = claimNameOf(pod, entry);
  if (known === 'none') return undefined;
  if (known !== 'unknown') {
    const there = context.read(resourceclaims).get(known.name, namespace);
    if (there !== undefined && (!known.isGenerated || isClaimOf(pod, there))) return undefined;
  }
  const templateName = entry.resourceClaimTemplateName;
  if (templateName === undefined) return undefined;
  const own = context.read(resourceclaims).byIndex(controllerIndex, uid);
  const memory = `${uid}/${entry.name}`;
  const shown = own.find(
    (claim) => isMadeFor(pod, entry, claim) && claim.metadata.deletionTimestamp === undefined,
  );
  if (shown !== undefined) {
    made.delete(memory);
    return shown.metadata.name;
  }
  const remembered = made.get(memory);
  if (remembered !== undefined && (await isThere(context, remembered))) return remembered.metadata.name;
  const template = context.read(resourceclaimtemplates).get(templateName, namespace);
  if (template === undefined)
    throw new Error(
      `resource claim template ${JSON.stringify(templateName)}: resourceclaimtemplate.resource.k8s.io ${JSON.stringify(templateName)} not found`,
    );
  try {
    const claim = await context.write.create(resourceclaims, claimFor(pod, entry, template));
    made.set(memory, claim);
    return claim.metadata.name;
  } catch (error) {
    throw new Error(`create ResourceClaim : ${textOf(error)}`, { cause: error });
  }
}

async function isThere(context: ControllerContext, { metadata }: ResourceClaim): Promise<boolean> {
  try {
    const { name, namespace } = metadata;
    const live = await context.write.get(resourceclaims, { name, namespace });
    return live.metadata.uid === metadata.uid && live.metadata.deletionTimestamp === undefined;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false;
    throw error;
  }
}

async function syncPod(context: ControllerContext, made: Made, pod: Pod): Promise<void> {
  if (isPodTerminating(pod) || isPodDone(pod)) return;
  const { name, namespace, uid } = pod.metadata;
  const found = new Map<string, string>();
  for (const entry of entriesOf(pod)) {
    try {
      const claim = await ensureClaim(context, made, pod, entry);
      if (claim !== undefined) found.set(entry.name, claim);
    } catch (error) {
      const text = `PodResourceClaim ${entry.name}: ${textOf(error)}`;
      context.events.event(referenceTo(pods, pod), 'Warning', 'FailedResourceClaimCreation', text);
      throw new Error(`pod ${namespace}/${name}, ${text}`, { cause: error });
    }
  }
  if (found.size > 0) {
    const resourceClaimStatuses = [...found].map(([entry, claim]) => ({
      name: entry,
      resourceClaimName: claim,
    }));
    const body = { metadata: { uid }, status: { resourceClaimStatuses } };
    await context.write.patch(
      pods,
      { name, namespace },
      { type: 'strategic', body },
      { subresource: 'status' },
    );
  }
  if ((pod.spec.nodeName ?? '') === '') return; // The scheduler reserves.
  for (const entry of entriesOf(pod)) {
    const known = claimNameOf(pod, entry);
    const claim =
      typeof known === 'string' ? undefined : context.read(resourceclaims).get(known.name, namespace);
    if (claim === undefined || typeof known === 'string') continue;
    if (known.isGenerated && !isClaimOf(pod, claim)) continue;
    const held = reservedBy(claim, pod);
    if (held !== undefined) await context.write.update(resourceclaims, held, { subresource: 'status' });
  }
}

/** Whether a pod holds a claim no more. What the informer does not show may just have been bound: the server is asked. */
async function isGone(
  context: ControllerContext,
  namespace: string,
  { name, uid, resource, apiGroup = '' }: ResourceClaimConsumerReference,
): Promise<boolean> {
  if (resource !== 'pods' || apiGroup !== '')
    throw new Error(`unsupported ReservedFor entry: ${resource} ${name}`);
  const shown = context.read(pods).get(name, namespace);
  if (shown !== undefined && shown.metadata.uid === uid) return isPodDone(shown);
  try {
    const live = await context.write.get(pods, { name, namespace });
    return live.metadata.uid !== uid;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return true;
    throw error;
  }
}

async function syncClaim(context: ControllerContext, known: ResourceClaim): Promise<void> {
  const { name, namespace = '' } = known.metadata;
  const gone = new Set<string>();
  for (const consumer of known.status?.reservedFor ?? [])
    if (await isGone(context, namespace, consumer)) gone.add(consumer.uid);
  let claim = known;
  const freed = withoutConsumers(claim, ({ uid }) => gone.has(uid));
  // Not by patches: who holds it may have changed meanwhile.
  if (freed !== undefined)
    claim = await context.write.update(resourceclaims, freed, { subresource: 'status' });
  const finalizers = finalizersLeft(claim, freed !== undefined);
  if (finalizers !== undefined) {
    const metadata = { ...claim.metadata, finalizers };
    claim = await context.write.update(resourceclaims, { ...claim, metadata });
  }
  const podName = owningPod(claim);
  // Where the informer shows no pod of the name the garbage collector finds out.
  const pod = podName === undefined ? undefined : context.read(pods).get(podName, namespace);
  if (!isUnused(claim, pod)) return;
  try {
    const { uid = '' } = claim.metadata;
    await context.write.delete(resourceclaims, { name, namespace }, { preconditions: { uid } });
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error;
  }
}

export function resourceClaimController(): Controller {
  const made: Made = new Map();
  const podsOf = (context: ControllerContext, name: string, key: string): string[] =>
    context.read(pods).byIndex(name, key).map(podKey);
  return defineController({
    name: 'resourceclaim-controller',
    queue: 'resource_claim',
    serviceAccount: 'resource-claim-controller',
    for: resourceclaims,
    access: [
      may('get', pods),
      may('patch', pods, 'status'),
      may(['create', 'delete', 'get', 'update'], resourceclaims),
      may('update', resourceclaims, 'status'),
      mayRecordEvents,
    ],
    indexes: [
      index(pods, podsByClaim, claimsOf),
      index(pods, podsByTemplate, templatesOf),
      index(resourceclaims, controllerIndex, controllerIndexValues),
    ],
    watches: [
      watching(pods, (pod, { type }) => {
        if (entriesOf(pod).length === 0) return [];
        if (type === 'deleted')
          for (const { name } of entriesOf(pod)) made.delete(`${pod.metadata.uid ?? ''}/${name}`);
        return type === 'deleted' || isPodDone(pod) ? claimsOf(pod) : [podKey(pod)];
      }),
      watching(resourceclaims, ({ metadata }, _, context) =>
        podsOf(context, podsByClaim, keyOf(metadata.name, metadata.namespace)),
      ),
      watching(resourceclaimtemplates, ({ metadata }, { type }, context) =>
        type === 'added' ? podsOf(context, podsByTemplate, keyOf(metadata.name, metadata.namespace)) : [],
      ),
    ],
    async reconcile({ name, namespace }, context) {
      if (name.startsWith(podPrefix)) {
        const pod = context.read(pods).get(name.slice(podPrefix.length), namespace);
        if (pod !== undefined) await syncPod(context, made, pod);
        return undefined;
      }
      const claim = context.read(resourceclaims).get(name, namespace);
      if (claim !== undefined) await syncClaim(context, claim);
      return undefined;
    },
  });
}
