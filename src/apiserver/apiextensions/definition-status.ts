// What the server says of a CustomResourceDefinition: which names it may have, and whether it is served. Pure.
import { approvalOf, isProtectedGroup } from '../../api/apiextensions/v1/api-approval.ts';
import { type Condition, findCondition, withCondition } from '../../apimachinery/conditions.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { obj, objs, str, strs } from '../../apimachinery/json-access.ts';
import { caBundleFault } from '../../crypto/ca-bundle.ts';

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const conditionsOf = (crd: JsonObject): readonly Condition[] =>
  objs(obj(crd['status'])['conditions']) as unknown as readonly Condition[];

export const isEstablished = (crd: JsonObject): boolean =>
  findCondition(conditionsOf(crd), 'Established')?.status === 'True';

/** Whether a built-in of the group has the name, or another definition was given it before. */
export interface TakenNames {
  readonly resource: (name: string) => boolean;
  readonly kind: (name: string) => boolean;
}

/** Why nobody can trust the conversion webhook of the definition. undefined: somebody may, or there is none. */
export function conversionBundleFault(crd: JsonObject): string | undefined {
  const { webhook } = obj(obj(crd['spec'])['conversion']);
  const bundle = str(obj(obj(webhook)['clientConfig'])['caBundle']);
  return bundle === '' ? undefined : caBundleFault(Buffer.from(bundle, 'base64').toString());
}

/** undefined: once established, always established. */
function establishment(crd: JsonObject, accepted: boolean): Condition | undefined {
  if (accepted && !isEstablished(crd) && conversionBundleFault(crd) !== undefined)
    return {
      type: 'Established',
      status: 'False',
      reason: 'InvalidCABundle',
      message: 'The conversion webhook CABundle is invalid',
    };
  if (accepted)
    return {
      type: 'Established',
      status: 'True',
      reason: 'InitialNamesAccepted',
      message: 'the initial names have been accepted',
    };
  return isEstablished(crd)
    ? undefined
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

interface NameDecision {
  readonly accepted: JsonObject;
  readonly condition: Condition;
}

const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;

/** As upstream, the last conflict that is found is the one that is told; a name that it has stays its own. */
function decideNames(names: JsonObject, before: JsonObject, taken: TakenNames): NameDecision {
  const accepted: JsonObject = { ...before };
  let condition: Condition = {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  };
  const refuse = (reason: string, message: string): void => {
    condition = { type: 'NamesAccepted', status: 'False', reason, message };
  };
  const decide = (field: string, reason: string, isTaken: (name: string) => boolean): void => {
    const wanted = str(names[field]);
    if (wanted !== str(before[field]) && isTaken(wanted)) refuse(reason, inUse(wanted));
    else accepted[field] = wanted;
  };
  decide('plural', 'PluralConflict', taken.resource);
  decide('singular', 'SingularConflict', taken.resource);
  const own = strs(before['shortNames']);
  const clashes = strs(names['shortNames']).filter((name) => !own.includes(name) && taken.resource(name));
  if (clashes.length > 0) {
    const texts = [...new Set(clashes.map(inUse))];
    refuse('ShortNamesConflict', texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
  } else accepted['shortNames'] = strs(names['shortNames']);
  decide('kind', 'KindConflict', taken.kind);
  decide('listKind', 'ListKindConflict', taken.kind);
  accepted['categories'] = strs(names['categories']);
  return { accepted: withoutEmpty(accepted), condition };
}

const withoutEmpty = (names: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(names).filter(
      ([key, value]) =>
        key === 'plural' || key === 'kind' || (Array.isArray(value) ? value.length > 0 : value !== ''),
    ),
  );

/** Of a group of the Kubernetes community: whether it says where it was approved. */
function approval(crd: JsonObject): Condition | undefined {
  const annotations = obj(obj(crd['metadata'])['annotations']) as Record<string, string>;
  if (!isProtectedGroup(str(obj(crd['spec'])['group']))) return undefined;
  const { state, reason } = approvalOf(annotations);
  const [status, why] = approvalReasons[state];
  return { type: 'KubernetesAPIApprovalPolicyConformant', status, reason: why, message: reason };
}

const approvalReasons = {
  invalid: ['False', 'InvalidAnnotation'],
  missing: ['False', 'MissingAnnotation'],
  approved: ['True', 'ApprovedAnnotation'],
  bypassed: ['False', 'UnapprovedAnnotation'],
} as const;

/** The status with names accepted or refused; the very same object when nothing changes. */
export function definitionStatus(crd: JsonObject, taken: TakenNames, now: string): JsonObject {
  const spec = obj(crd['spec']);
  const status = obj(crd['status']);
  const { accepted, condition } = decideNames(obj(spec['names']), obj(status['acceptedNames']), taken);
  let conditions = withCondition(conditionsOf(crd), { ...condition, lastTransitionTime: now });
  for (const more of [establishment(crd, condition.status === 'True'), approval(crd)])
    if (more !== undefined) conditions = withCondition(conditions, { ...more, lastTransitionTime: now });
  const stored = strs(status['storedVersions']);
  const storage = str(objs(spec['versions']).find((v) => v['storage'] === true)?.['name']);
  const next: JsonObject = {
    ...status,
    conditions: conditions as unknown as JsonObject[],
    acceptedNames: accepted,
    storedVersions: storage === '' || stored.includes(storage) ? stored : [...stored, storage],
  };
  return jsonEqual(next, crd['status']) ? status : next;
}

/** Of a definition that is being deleted: how far its objects are. */
export function terminatingStatus(
  crd: JsonObject,
  { reason, message, now }: { readonly reason: string; readonly message: string; readonly now: string },
): JsonObject {
  const condition = {
    type: 'Terminating',
    status: 'True',
    reason,
    message,
    lastTransitionTime: now,
  } as const;
  const conditions = withCondition(conditionsOf(crd), condition);
  return { ...obj(crd['status']), conditions: conditions as unknown as JsonObject[] };
}
