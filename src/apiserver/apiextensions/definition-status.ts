// What the server says of a CustomResourceDefinition: which names it may have, and whether it is served. Pure.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual, nameOf, obj, objs, str, strs } from '../../apimachinery/json-access.ts';

export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const isTrue = (crd: JsonObject, type: string): boolean =>
  objs(obj(crd['status'])['conditions']).some((c) => c['type'] === type && c['status'] === 'True');

export const isEstablished = (crd: JsonObject): boolean => isTrue(crd, 'Established');

/** The condition, in the place of the one of its type; the time moves when the status changes. */
function withCondition(conditions: readonly JsonObject[], next: JsonObject, now: string): JsonObject[] {
  const old = conditions.find((c) => c['type'] === next['type']);
  const made: JsonObject = {
    type: next['type'],
    status: next['status'],
    lastTransitionTime:
      old !== undefined && old['status'] === next['status'] ? (old['lastTransitionTime'] ?? now) : now,
    reason: next['reason'],
    message: next['message'],
  };
  return old === undefined ? [...conditions, made] : conditions.map((c) => (c === old ? made : c));
}

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

  let conditions = withCondition(
    objs(status['conditions']),
    conflicts.length === 0
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : {
          type: 'NamesAccepted',
          status: 'False',
          reason: conflicts.length === 1 ? 'NameConflict' : 'MultipleNamesConflict',
          message: conflicts.join(', '),
        },
    now,
  );
  if (conflicts.length === 0)
    conditions = withCondition(
      conditions,
      {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      },
      now,
    );
  else if (!isEstablished(crd))
    conditions = withCondition(
      conditions,
      { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
      now,
    );
  const stored = strs(status['storedVersions']);
  const storage = str(objs(spec['versions']).find((v) => v['storage'] === true)?.['name']);
  const next: JsonObject = {
    ...status,
    conditions,
    acceptedNames: Object.fromEntries(
      Object.entries(accepted).filter(([key, value]) => value !== '' || key === 'plural' || key === 'kind'),
    ),
    storedVersions: storage === '' || stored.includes(storage) ? stored : [...stored, storage],
  };
  return jsonEqual(next, crd['status']) ? status : next;
}
