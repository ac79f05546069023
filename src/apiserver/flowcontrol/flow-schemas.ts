// Which FlowSchema a request belongs to, and which flow of it: upstream's matching, by precedence, then by name.
import type {
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../api/generated/types/flowcontrol-v1.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import type { RequestInfo } from '../request-info.ts';

export const byPrecedence = (schemas: readonly FlowSchema[]): FlowSchema[] =>
  [...schemas].sort(
    (a, b) =>
      (a.spec.matchingPrecedence ?? 1000) - (b.spec.matchingPrecedence ?? 1000) ||
      ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );

export const matches = (schema: FlowSchema, user: UserInfo, info: RequestInfo): boolean =>
  schema.spec.rules?.some((rule) => matchesRule(rule, user, info)) === true;

const matchesRule = (rule: PolicyRulesWithSubjects, user: UserInfo, info: RequestInfo): boolean =>
  rule.subjects.some((subject) => isSubject(subject, user)) &&
  (info.isResource
    ? rule.resourceRules?.some((r) => matchesResource(r, info)) === true
    : rule.nonResourceRules?.some((r) => matchesPath(r, info)) === true);

function isSubject(subject: Subject, user: UserInfo): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.user?.name === '*' || subject.user?.name === user.name;
    case 'Group':
      return subject.group?.name === '*' || user.groups.includes(subject.group?.name ?? '');
    case 'ServiceAccount': {
      const { namespace, name } = subject.serviceAccount ?? { namespace: '', name: '' };
      if (name === '*') return user.name.startsWith(`system:serviceaccount:${namespace}:`);
      return user.name === `system:serviceaccount:${namespace}:${name}`;
    }
    default:
      return false;
  }
}

const has = (list: readonly string[] | undefined, value: string): boolean =>
  list?.includes('*') === true || list?.includes(value) === true;

function matchesResource(rule: ResourcePolicyRule, info: RequestInfo): boolean {
  const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  if (!has(rule.verbs, info.verb) || !has(rule.apiGroups, info.group) || !has(rule.resources, resource))
    return false;
  return info.namespace === '' ? rule.clusterScope === true : has(rule.namespaces, info.namespace);
}

const matchesPath = (rule: NonResourcePolicyRule, info: RequestInfo): boolean =>
  has(rule.verbs, info.verb) &&
  rule.nonResourceURLs.some(
    (url) =>
      url === '*' || url === info.path || (url.endsWith('/*') && info.path.startsWith(url.slice(0, -1))),
  );

/** Requests of one flow share a hand of queues. */
export function distinguisherOf(schema: FlowSchema, user: UserInfo, info: RequestInfo): string {
  switch (schema.spec.distinguisherMethod?.type) {
    case 'ByUser':
      return user.name;
    case 'ByNamespace':
      return info.namespace;
    default:
      return '';
  }
}
