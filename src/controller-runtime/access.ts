// What a controller declares that it asks of the server. Its role is made of this, and its client refuses the rest; pure.
import type { PolicyRule } from '../api/generated/types/rbac-v1.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';

/** RBAC's verbs of resources. The last three are asked for by admission, when the object of another call needs them. */
export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  | 'approve'
  | 'escalate'
  | 'sign';

type Target = Pick<ResourceRef, 'group' | 'resource'>;

export interface Access {
  readonly groups: readonly string[];
  /** With its subresource, if any: `pods/status`. `*` is every resource, and `*` before a subresource that of every one. */
  readonly resource: string;
  /** Objects of these names only. */
  readonly names?: readonly string[];
  readonly verbs: readonly Verb[];
}

/** For those that act on whatever the server serves. */
export const anything: Target = { group: '*', resource: '*' };

/** `may('update', jobs, 'status')`. */
export const may = (
  verbs: Verb | readonly Verb[],
  { group, resource }: Target,
  subresource?: string,
): Access => ({
  groups: [group],
  resource: subresource === undefined ? resource : `${resource}/${subresource}`,
  verbs: typeof verbs === 'string' ? [verbs] : verbs,
});

/** What an event recorder asks for; of both groups, in which Events are one. */
export const mayRecordEvents: Access = {
  groups: ['', 'events.k8s.io'],
  resource: 'events',
  verbs: ['create', 'patch'],
};

const covers = (access: Access, verb: Verb, group: string, resource: string): boolean => {
  const slash = resource.indexOf('/');
  return (
    access.verbs.includes(verb) &&
    (access.groups.includes('*') || access.groups.includes(group)) &&
    (access.resource === '*' ||
      access.resource === resource ||
      (slash > 0 && access.resource === `*${resource.slice(slash)}`))
  );
};

export const isDeclared = (
  list: readonly Access[],
  verb: Verb,
  target: Target,
  subresource = '',
): boolean => {
  const resource = subresource === '' ? target.resource : `${target.resource}/${subresource}`;
  return list.some((access) => covers(access, verb, target.group, resource));
};

/** The rules of a role that allows all of this, and nothing else: one for each resource. */
export function rulesFor(list: readonly Access[]): PolicyRule[] {
  const wide = list.filter((access) => access.resource === '*');
  const verbs = new Map<string, Set<Verb>>();
  for (const access of list) {
    const { groups, resource, names } = access;
    const key = JSON.stringify({ apiGroups: groups, resources: [resource], resourceNames: names });
    const known = verbs.get(key) ?? new Set();
    for (const verb of access.verbs) {
      const isWider = (other: Access): boolean =>
        other !== access && covers(other, verb, groups[0] ?? '', resource);
      if (access.resource === '*' || !wide.some(isWider)) known.add(verb);
    }
    if (known.size > 0) verbs.set(key, known);
  }
  return [...verbs].map(([key, set]) => ({ verbs: [...set].sort(), ...(JSON.parse(key) as object) }));
}
