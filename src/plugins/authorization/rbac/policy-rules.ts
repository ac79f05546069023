// RBAC's policy rules: what one rule allows, whether rules cover others, and how upstream prints them.

import type { PolicyRule } from '../../../api/generated/types/rbac-v1.ts';
import { goQuoted } from '../../../apimachinery/go-format.ts';
import { withoutTrailing } from '../../../base/without-trailing.ts';

export interface RequestedAccess {
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
}

const has = (list: readonly string[] | undefined, value: string): boolean => list?.includes(value) ?? false;

const nonResourceUrlMatches = (pattern: string, path: string): boolean =>
  pattern === '*' ||
  pattern === path ||
  (pattern.endsWith('*') && path.startsWith(withoutTrailing(pattern, '*')));

const resourceMatches = (resources: readonly string[] | undefined, resource: string): boolean => {
  const slash = resource.indexOf('/');
  return (
    has(resources, '*') ||
    has(resources, resource) ||
    (slash > 0 && has(resources, `*${resource.slice(slash)}`))
  );
};

/** As upstream's rbac.RuleAllows. */
export function ruleAllows(rule: PolicyRule, access: RequestedAccess): boolean {
  if (!has(rule.verbs, '*') && !has(rule.verbs, access.verb)) return false;
  if (!access.isResource) {
    return (rule.nonResourceURLs ?? []).some((pattern) => nonResourceUrlMatches(pattern, access.path));
  }
  const resource = access.subresource === '' ? access.resource : `${access.resource}/${access.subresource}`;
  return (
    (has(rule.apiGroups, '*') || has(rule.apiGroups, access.group)) &&
    resourceMatches(rule.resources, resource) &&
    ((rule.resourceNames?.length ?? 0) === 0 || has(rule.resourceNames, access.name))
  );
}

const or = <T>(
  list: readonly T[] | undefined,
  fallback: readonly (T | undefined)[],
): readonly (T | undefined)[] => (list !== undefined && list.length > 0 ? list : fallback);

/** The rule as rules of one verb, one group, one resource and at most one name each. */
function breakdown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const verb of rule.verbs ?? []) {
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        for (const name of or(rule.resourceNames, [undefined])) {
          parts.push({
            apiGroups: [group],
            resources: [resource],
            verbs: [verb],
            ...(name === undefined ? {} : { resourceNames: [name] }),
          });
        }
      }
    }
    for (const url of rule.nonResourceURLs ?? []) parts.push({ nonResourceURLs: [url], verbs: [verb] });
  }
  return parts;
}

const hasAll = (list: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean =>
  (wanted ?? []).every((value) => has(list, value));

function ruleCovers(owner: PolicyRule, part: PolicyRule): boolean {
  const names = part.resourceNames ?? [];
  const ownerNames = owner.resourceNames ?? [];
  return (
    (has(owner.verbs, '*') || hasAll(owner.verbs, part.verbs)) &&
    (has(owner.apiGroups, '*') || hasAll(owner.apiGroups, part.apiGroups)) &&
    (part.resources ?? []).every((resource) => resourceMatches(owner.resources, resource)) &&
    (part.nonResourceURLs ?? []).every((url) =>
      (owner.nonResourceURLs ?? []).some((pattern) => nonResourceUrlMatches(pattern, url)),
    ) &&
    (ownerNames.length === 0 || (names.length > 0 && hasAll(ownerNames, names)))
  );
}

/** A rule of a thousand verbs, groups and resources each has a billion parts. */
const maxParts = 100_000;
const partsOf = (rule: PolicyRule): number =>
  (rule.verbs?.length ?? 0) *
  ((rule.apiGroups?.length ?? 0) *
    (rule.resources?.length ?? 0) *
    Math.max(rule.resourceNames?.length ?? 0, 1) +
    (rule.nonResourceURLs?.length ?? 0));

/** The parts of `wanted` that no rule of `owned` covers. Rules of too many parts count whole. */
export function uncoveredRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing: PolicyRule[] = [];
  let parts = 0;
  for (const rule of wanted) {
    if (owned.some((held) => ruleCovers(held, rule))) continue;
    parts += partsOf(rule);
    if (parts > maxParts) return [...missing, rule];
    for (const part of breakdown(rule)) if (!owned.some((held) => ruleCovers(held, part))) missing.push(part);
  }
  return missing;
}

/** Rules that differ in their verb only become one, as upstream's CompactRules. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const simple = new Map<string, { rule: PolicyRule; verbs: string[] }>();
  const compacted: PolicyRule[] = [];
  for (const rule of rules) {
    if (rule.nonResourceURLs !== undefined) {
      compacted.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const known = simple.get(key);
    if (known === undefined) simple.set(key, { rule, verbs: [...(rule.verbs ?? [])] });
    else known.verbs.push(...(rule.verbs ?? []));
  }
  for (const { rule, verbs } of simple.values()) compacted.push({ ...rule, verbs });
  return compacted;
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`. */
export function ruleText(rule: PolicyRule): string {
  const parts: [string, readonly string[] | undefined][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const shown = parts.filter(([, list]) => list !== undefined && list.length > 0);
  return `{${shown.map(([name, list]) => `${name}:${goQuoted(list ?? [])}`).join(', ')}}`;
}
