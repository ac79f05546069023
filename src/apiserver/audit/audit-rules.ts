// Which rule of the audit policy a request falls under: the first that matches it.
import type {
  AuditLevel,
  AuditPolicy,
  AuditPolicyRule,
  AuditStage,
  GroupResources,
} from '../../api/audit/policy.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import type { RequestInfo } from '../request-info.ts';

export interface AuditRule {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

export type MatchPolicy = (info: RequestInfo, user: UserInfo | undefined) => AuditRule;

/** What is the same for all requests of a rule is made once. */
export function policyMatcher(policy: AuditPolicy): MatchPolicy {
  const compiled = policy.rules.map((rule) => ({
    rule,
    found: auditRule(policy, rule.level, rule.omitStages ?? [], rule.omitManagedFields),
  }));
  const none = auditRule(policy, 'None', [], undefined);
  return (info, user) => {
    for (const { rule, found } of compiled) if (matches(rule, info, user)) return found;
    return none;
  };
}

const auditRule = (
  policy: AuditPolicy,
  level: AuditLevel,
  omitStages: readonly AuditStage[],
  omitManagedFields: boolean | undefined,
): AuditRule => ({
  level,
  omitStages: new Set([...(policy.omitStages ?? []), ...omitStages]),
  omitManagedFields: omitManagedFields ?? policy.omitManagedFields ?? false,
});

const some = <T>(list: readonly T[] | undefined): list is readonly T[] =>
  list !== undefined && list.length > 0;

function matches(rule: AuditPolicyRule, info: RequestInfo, user: UserInfo | undefined): boolean {
  const { users, userGroups, verbs, namespaces, resources, nonResourceURLs } = rule;
  if (some(users) && (user === undefined || !users.includes(user.name))) return false;
  if (some(userGroups) && !user?.groups.some((group) => userGroups.includes(group))) return false;
  if (some(verbs) && !verbs.includes(info.verb)) return false;
  if (some(namespaces) || some(resources)) {
    if (!info.isResource) return false;
    if (some(namespaces) && !namespaces.includes(info.namespace)) return false;
    return !some(resources) || resources.some((one) => matchesResource(one, info));
  }
  if (some(nonResourceURLs))
    return !info.isResource && nonResourceURLs.some((spec) => matchesPath(spec, info.path));
  return true;
}

const matchesPath = (spec: string, path: string): boolean =>
  spec === '*' || spec === path || (spec.endsWith('*') && path.startsWith(spec.slice(0, -1)));

function matchesResource(
  { group = '', resources, resourceNames }: GroupResources,
  info: RequestInfo,
): boolean {
  if (group !== '*' && group !== info.group) return false;
  if (!some(resources)) return true;
  if (some(resourceNames) && !resourceNames.includes(info.name)) return false;
  const { resource, subresource } = info;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (wanted) =>
      wanted === whole ||
      wanted === '*' ||
      (subresource !== '' && wanted === `*/${subresource}`) ||
      wanted === `${resource}/*`,
  );
}
