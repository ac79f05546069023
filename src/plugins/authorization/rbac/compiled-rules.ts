// A user's rules as nested maps, so that one request costs a few look-ups however many rules there are.
import { type RequestedAccess, ruleAllows } from './policy-rules.ts';
import type { AppliedRule } from './rule-resolver.ts';

/** Source of the rule that allows any name, and sources by name. */
interface Grant {
  any?: string;
  names?: Map<string, string>;
}

type ByResource = Map<string, Grant>;
type ByGroup = Map<string, ByResource>;

export interface CompiledRules {
  /** The binding that allows it, or undefined. */
  allowedBy(access: RequestedAccess): string | undefined;
}

const child = <V>(map: Map<string, V>, key: string, make: () => V): V => {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
};

function compile(rules: readonly AppliedRule[]): Map<string, ByGroup> {
  const verbs = new Map<string, ByGroup>();
  for (const { rule, source } of rules) {
    for (const verb of rule.verbs ?? []) {
      const groups = child(verbs, verb, (): ByGroup => new Map());
      for (const group of rule.apiGroups ?? []) {
        const resources = child(groups, group, (): ByResource => new Map());
        for (const resource of rule.resources ?? []) {
          const grant = child(resources, resource, (): Grant => ({}));
          if (rule.resourceNames === undefined || rule.resourceNames.length === 0) grant.any ??= source;
          else {
            grant.names ??= new Map();
            for (const name of rule.resourceNames) if (!grant.names.has(name)) grant.names.set(name, source);
          }
        }
      }
    }
  }
  return verbs;
}

export function compileRules(rules: readonly AppliedRule[]): CompiledRules {
  const verbs = compile(rules);
  const nonResource = rules.filter(({ rule }) => (rule.nonResourceURLs?.length ?? 0) > 0);
  const inGroups = (groups: ByGroup | undefined, access: RequestedAccess): string | undefined => {
    if (groups === undefined) return undefined;
    const wanted =
      access.subresource === ''
        ? ['*', access.resource]
        : ['*', `${access.resource}/${access.subresource}`, `*/${access.subresource}`];
    for (const resources of [groups.get(access.group), groups.get('*')]) {
      if (resources === undefined) continue;
      for (const resource of wanted) {
        const grant = resources.get(resource);
        const source = grant?.any ?? grant?.names?.get(access.name);
        if (source !== undefined) return source;
      }
    }
    return undefined;
  };
  return {
    allowedBy(access) {
      if (!access.isResource) return nonResource.find(({ rule }) => ruleAllows(rule, access))?.source;
      return inGroups(verbs.get(access.verb), access) ?? inGroups(verbs.get('*'), access);
    },
  };
}
