// What the server says of a CustomResourceDefinition: which names it may have, and whether it is served. Pure.
import { type Condition, findCondition, withCondition } from '../../apimachinery/conditions.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { nameOf, obj, objs, str, strs } from '../../apimachinery/json-access.ts';

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const conditionsOf = (crd: JsonObject): readonly Condition[] =>
  objs(obj(crd['status'])['conditions']) as unknown as readonly Condition[];

export const isEstablished = (crd: JsonObject): boolean =>
  findCondition(conditionsOf(crd), 'Established')?.status === 'True';

/** Names of other definitions in the group that were accepted before. */
export interface TakenNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

export function takenNames(crd: JsonObject, all: readonly JsonObject[]): TakenNames {
  const group = str(obj(crd['spec'])['group']);
  const others = all
    .filter((other) => nameOf(other) !== nameOf(crd) && str(obj(other['spec'])['group']) === group)
    .map((other) => obj(obj(other['status'])['acceptedNames']));
  return {
    resources: new Set(
      others.flatMap((n) => [str(n['plural']), str(n['singular']), ...strs(n['shortNames'])]),
    ),
    kinds: new Set(others.flatMap((n) => [str(n['kind']), str(n['listKind'])])),
  };
}

/** undefined: once established, always established. */
function establishment(crd: JsonObject, accepted: boolean): Condition | undefined {
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

/** The status with names accepted or refused; the very same object when nothing changes. */
export function definitionStatus(crd: JsonObject, taken: TakenNames, now: string): JsonObject {
  const spec = obj(crd['spec']);
  const names = obj(spec['names']);
  const status = obj(crd['status']);
  const before = obj(status['acceptedNames']);
  const conflicts: string[] = [];
  const accepted: JsonObject = {};
  const accept = (field: string, among: ReadonlySet<string>): void => {
    const value = str(names[field]);
    if (value === '' || !among.has(value)) accepted[field] = value;
    else {
      conflicts.push(`${JSON.stringify(value)} is already in use`);
      accepted[field] = str(before[field]);
    }
  };
  accept('plural', taken.resources);
  accept('singular', taken.resources);
  const shortNames = strs(names['shortNames']);
  const clashing = shortNames.filter((name) => taken.resources.has(name));
  for (const name of clashing) conflicts.push(`${JSON.stringify(name)} is already in use`);
  if (shortNames.length > 0)
    accepted['shortNames'] = clashing.length === 0 ? shortNames : strs(before['shortNames']);
  accept('kind', taken.kinds);
  accept('listKind', taken.kinds);
  const categories = strs(names['categories']);
  if (categories.length > 0) accepted['categories'] = categories;

  const named: Condition =
    conflicts.length === 0
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : {
          type: 'NamesAccepted',
          status: 'False',
          reason: conflicts.length === 1 ? 'NameConflict' : 'MultipleNamesConflict',
          message: conflicts.join(', '),
        };
  let conditions = withCondition(conditionsOf(crd), { ...named, lastTransitionTime: now });
  const established = establishment(crd, conflicts.length === 0);
  if (established !== undefined)
    conditions = withCondition(conditions, { ...established, lastTransitionTime: now });
  const stored = strs(status['storedVersions']);
  const storage = str(objs(spec['versions']).find((v) => v['storage'] === true)?.['name']);
  const next: JsonObject = {
    ...status,
    conditions: conditions as unknown as JsonObject[],
    acceptedNames: Object.fromEntries(
      Object.entries(accepted).filter(([key, value]) => value !== '' || key === 'plural' || key === 'kind'),
    ),
    storedVersions: storage === '' || stored.includes(storage) ? stored : [...stored, storage],
  };
  return jsonEqual(next, crd['status']) ? status : next;
}
