// Nobody grants what they do not hold: the check of roles and bindings when they are written.

import { isDeepStrictEqual } from 'node:util';
import type { PolicyRule, RoleRef } from '../../../api/generated/types/rbac-v1.ts';
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { forbidden, internalError, notFound } from '../../../apimachinery/errors.ts';
import { goQuoted } from '../../../apimachinery/go-format.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import type { UserInfo } from '../../../apiserver/authentication/user-info.ts';
import type { Authorizer } from '../../../apiserver/authorization/authorizer.ts';
import { compactRules, ruleText, uncoveredRules } from './policy-rules.ts';
import type { RuleResolver } from './rule-resolver.ts';

const group = 'rbac.authorization.k8s.io';
const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** The refusal's text, or undefined when the user holds all of `rules`. */
export function escalationRefusal(
  resolver: RuleResolver,
  user: UserInfo,
  namespace: string,
  rules: readonly PolicyRule[],
): string | undefined {
  const held = resolver.rulesFor(user, namespace);
  const missing = uncoveredRules(
    held.rules.map((applied) => applied.rule),
    rules,
  );
  if (missing.length === 0) return undefined;
  const texts = [...new Set(compactRules(missing).map(ruleText))].sort();
  const errors = held.errors.length === 0 ? '' : `; resolution errors: [${held.errors.join(' ')}]`;
  return `user ${JSON.stringify(user.name)} (groups=${goQuoted(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${texts.join('\n')}${errors}`;
}

/** What the garbage collector must be able to change without the rights of the role, and what each write changes. */
const bookkeeping = ['ownerReferences', 'finalizers', 'managedFields', 'resourceVersion'];

/**
 * Any other change is judged as a grant of all that the object grants: a label may put a role's rules into an
 * aggregated one.
 */
function changesOnlyBookkeeping(object: JsonObject, old: JsonObject | undefined): boolean {
  if (old === undefined) return false;
  const rest = ({ metadata, ...more }: JsonObject): JsonObject => ({
    ...more,
    metadata: Object.fromEntries(
      Object.entries((metadata ?? {}) as JsonObject).filter(([key]) => !bookkeeping.includes(key)),
    ),
  });
  return isDeepStrictEqual(rest(object), rest(old));
}

type Target = { readonly resource: string; readonly name: string; readonly namespace: string };

/** Whether whoever asks holds this verb on a role. */
const mayWith =
  (authorizer: Authorizer) =>
  async (request: AdmissionRequest, verb: string, target: Target): Promise<boolean> => {
    const { decision } = await authorizer.authorize({
      user: request.user,
      verb,
      isResource: true,
      group,
      version: 'v1',
      resource: target.resource,
      subresource: '',
      namespace: target.namespace,
      name: target.name,
      path: '',
    });
    return decision === 'allow';
  };

export function createEscalationCheck(deps: {
  readonly resolver: RuleResolver;
  readonly authorizer: Authorizer;
}): AdmissionPlugin {
  const may = mayWith(deps.authorizer);
  const refuse = (request: AdmissionRequest, why: string): never => {
    throw forbidden(request.declaration, request.name, why);
  };

  const checkRole = async (request: AdmissionRequest, object: JsonObject): Promise<void> => {
    const { resource } = request.declaration;
    if (changesOnlyBookkeeping(object, request.oldObject)) return;
    if (await may(request, 'escalate', { resource, name: request.name, namespace: request.namespace }))
      return;
    const rules = (object.rules ?? []) as unknown as readonly PolicyRule[];
    const why = escalationRefusal(deps.resolver, request.user, request.namespace, rules);
    if (why !== undefined) refuse(request, why);
    const aggregated = [object, request.oldObject].some((one) => one?.aggregationRule !== undefined);
    if (
      aggregated &&
      escalationRefusal(deps.resolver, request.user, request.namespace, fullAuthority) !== undefined
    )
      refuse(request, 'must have cluster-admin privileges to use the aggregationRule');
  };

  const checkBinding = async (request: AdmissionRequest, object: JsonObject): Promise<void> => {
    if (changesOnlyBookkeeping(object, request.oldObject)) return;
    const roleRef = object.roleRef as unknown as RoleRef;
    const resource = roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    const target = { resource, name: roleRef.name, namespace: request.namespace };
    if (await may(request, 'bind', target)) return;
    const rules = deps.resolver.rulesOfRole(roleRef, request.namespace);
    if (typeof rules === 'string') {
      throw rules.endsWith(' not found')
        ? notFound({ group, resource: resource.slice(0, -1) }, roleRef.name)
        : internalError(rules);
    }
    const why = escalationRefusal(deps.resolver, request.user, request.namespace, rules);
    if (why !== undefined) refuse(request, why);
  };

  return {
    name: 'RBACEscalationCheck',
    operations: ['CREATE', 'UPDATE'],
    async validate(request) {
      const { declaration, object } = request;
      if (declaration.group !== group || object === undefined) return;
      if (request.user.groups.includes('system:masters')) return;
      if (declaration.resource === 'roles' || declaration.resource === 'clusterroles') {
        await checkRole(request, object);
      } else await checkBinding(request, object);
    },
  };
}
