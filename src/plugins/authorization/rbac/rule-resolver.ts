// Which RBAC rules apply to a user, in which namespace, and by which binding.
import { clusterrolebindings, clusterroles, rolebindings, roles } from '../../../api/generated/resources.ts';
import type { PolicyRule, RoleRef, Subject } from '../../../api/generated/types/rbac-v1.ts';
import type { UserInfo } from '../../../apiserver/authentication/user-info.ts';
import type { LiveObjects } from '../../../apiserver/live-objects.ts';

export interface AppliedRule {
  readonly rule: PolicyRule;
  /** `ClusterRoleBinding "x" of ClusterRole "y" to User "z"`. */
  readonly source: string;
}

export interface ResolvedRules {
  readonly rules: readonly AppliedRule[];
  /** Bindings that name roles which do not exist. */
  readonly errors: readonly string[];
}

export interface RuleResolver {
  /** Rules of ClusterRoleBindings. */
  clusterRulesFor(user: UserInfo): ResolvedRules;
  /** Rules of the namespace's RoleBindings alone. */
  namespaceRulesFor(user: UserInfo, namespace: string): ResolvedRules;
  /** Both; '' for the cluster's alone. */
  rulesFor(user: UserInfo, namespace: string): ResolvedRules;
  /** Rules of the role that a binding names. A string is the error. */
  rulesOfRole(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | string;
  /** Differs when any RBAC object was written since. */
  version(): number;
}

const serviceAccountName = (subject: Subject, namespace: string): string =>
  `system:serviceaccount:${subject.namespace || namespace}:${subject.name}`;

function appliesTo(user: UserInfo, subject: Subject, namespace: string): boolean {
  switch (subject.kind) {
    case 'User':
      return user.name === subject.name;
    case 'Group':
      return user.groups.includes(subject.name);
    case 'ServiceAccount':
      return (subject.namespace || namespace) !== '' && user.name === serviceAccountName(subject, namespace);
    default:
      return false;
  }
}

const subjectText = (subject: Subject, namespace: string): string =>
  subject.kind === 'ServiceAccount'
    ? `ServiceAccount ${JSON.stringify(`${subject.name}/${subject.namespace || namespace}`)}`
    : `${subject.kind} ${JSON.stringify(subject.name)}`;

interface Binding {
  readonly metadata?: { readonly name?: string | undefined } | undefined;
  readonly roleRef?: RoleRef | undefined;
  readonly subjects?: readonly Subject[] | undefined;
}

export function createRuleResolver(live: LiveObjects): RuleResolver {
  const rulesOfRole = (roleRef: RoleRef, namespace: string): readonly PolicyRule[] | string => {
    if (roleRef.kind === 'ClusterRole') {
      const role = live.get(clusterroles, roleRef.name);
      return role === undefined
        ? `clusterrole.rbac.authorization.k8s.io ${JSON.stringify(roleRef.name)} not found`
        : (role.rules ?? []);
    }
    if (roleRef.kind === 'Role') {
      const role = live.get(roles, roleRef.name, namespace);
      return role === undefined
        ? `role.rbac.authorization.k8s.io ${JSON.stringify(roleRef.name)} not found`
        : (role.rules ?? []);
    }
    return `unsupported role reference kind: ${JSON.stringify(roleRef.kind)}`;
  };

  const resolve = (user: UserInfo, bindings: readonly Binding[], namespace: string): ResolvedRules => {
    const rules: AppliedRule[] = [];
    const errors: string[] = [];
    for (const binding of bindings) {
      const subject = binding.subjects?.find((candidate) => appliesTo(user, candidate, namespace));
      // A binding that is damaged grants nothing, and breaks no request.
      if (subject === undefined || binding.roleRef === undefined) continue;
      const found = rulesOfRole(binding.roleRef, namespace);
      if (typeof found === 'string') {
        errors.push(found);
        continue;
      }
      const name = binding.metadata?.name ?? '';
      const [kind, shown] =
        namespace === '' ? ['ClusterRoleBinding', name] : ['RoleBinding', `${name}/${namespace}`];
      const source = `${kind} ${JSON.stringify(shown)} of ${binding.roleRef.kind} ${JSON.stringify(binding.roleRef.name)} to ${subjectText(subject, namespace)}`;
      for (const rule of found) rules.push({ rule, source });
    }
    return { rules, errors };
  };

  const clusterRulesFor = (user: UserInfo): ResolvedRules =>
    resolve(user, live.list(clusterrolebindings), '');
  const namespaceRulesFor = (user: UserInfo, namespace: string): ResolvedRules =>
    resolve(user, live.list(rolebindings, { namespace }), namespace);
  return {
    clusterRulesFor,
    namespaceRulesFor,
    rulesFor(user, namespace) {
      const cluster = clusterRulesFor(user);
      if (namespace === '') return cluster;
      const local = namespaceRulesFor(user, namespace);
      return { rules: [...cluster.rules, ...local.rules], errors: [...cluster.errors, ...local.errors] };
    },
    rulesOfRole,
    version: () =>
      live.version(clusterrolebindings) +
      live.version(clusterroles) +
      live.version(rolebindings) +
      live.version(roles),
  };
}
