// Expressions of policies are compiled before they are stored; and who names parameters must be allowed to read them, since a
// policy's messages may tell of what they hold.
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicy,
} from '../../api/generated/types/admissionregistration-v1.ts';
import type { Scheme } from '../../apimachinery/declaration.ts';
import type { Decoded } from '../../apimachinery/decoded.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, forbidden } from '../../apimachinery/field-error.ts';
import { nameOf } from '../../apimachinery/json-access.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';
import type { HookContext } from '../../apiserver/registry/write-hooks.ts';

const group = 'admissionregistration.k8s.io';

type Policy = Decoded<ValidatingAdmissionPolicy> & Decoded<MutatingAdmissionPolicy>;
type Binding = Decoded<MutatingAdmissionPolicyBinding>;

interface PolicyCheckDeps {
  readonly scheme: Scheme;
  readonly live: LiveObjects;
  readonly authorizer: Authorizer;
}

/** As Go's `%v` has a user. */
function userText({ name, uid = '', groups, extra = {} }: UserInfo): string {
  const more = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1));
  const map = more.map(([key, values]) => `${key}:[${values.join(' ')}]`).join(' ');
  return `&{${name} ${uid} [${groups.join(' ')}] map[${map}]}`;
}

/** What a paramKind is, as far as it can be told; what can't is everything. */
function resourceOf(
  { apiVersion = '', kind = '' }: NonNullable<NonNullable<Policy['spec']>['paramKind']>,
  scheme: Scheme,
): { group: string; version: string; resource: string } {
  const parts = apiVersion.split('/');
  if (parts.length > 2) return { group: '*', version: '*', resource: '*' };
  const [ofGroup, version] = parts.length === 1 ? ['', parts[0]!] : [parts[0]!, parts[1]!];
  const resource = scheme.kind({ group: ofGroup, version, kind })?.resource ?? '*';
  return { group: ofGroup, version, resource };
}

/** undefined when nobody has to ask: the server itself, or a superuser. */
const askerOf = ({ context }: HookContext): UserInfo | undefined => {
  const user = context?.user;
  return user === undefined || user.groups.includes('system:masters') ? undefined : user;
};

async function mayRead(
  authorizer: Authorizer,
  user: UserInfo,
  verb: 'get' | 'list',
  of: { group: string; version: string; resource: string; namespace: string; name: string },
): Promise<boolean> {
  const asked = { user, verb, isResource: true, subresource: '', path: '', ...of };
  return (await authorizer.authorize(asked)).decision === 'allow';
}

/** Those of a policy, in upstream's order; none twice. */
async function expressionErrors(policy: Policy, old: Policy | undefined): Promise<FieldError[]> {
  if (old !== undefined && semanticEqual(policy.spec, old.spec)) return [];
  const { policyExpressionErrors } = await import('./policy-expressions.ts');
  return policyExpressionErrors(policy);
}

async function paramKindErrors(
  { scheme, authorizer }: PolicyCheckDeps,
  policy: Policy,
  old: Policy | undefined,
  hook: HookContext,
): Promise<FieldError[]> {
  const kind = policy.spec?.paramKind;
  const user = askerOf(hook);
  if (kind === undefined || user === undefined || semanticEqual(kind, old?.spec?.paramKind)) return [];
  const of = { ...resourceOf(kind, scheme), namespace: '*', name: '*' };
  if (await mayRead(authorizer, user, 'get', of)) return [];
  return [
    forbidden(
      'spec.paramKind',
      `user ${userText(user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind.kind ?? ''}, apiVersion=${kind.apiVersion ?? ''})`,
    ),
  ];
}

/** `validate`: what else is wrong with it. All is told together. */
export const policyChecks = (
  kind: string,
  deps: PolicyCheckDeps,
  validate: (policy: Policy) => readonly FieldError[],
): RestHandler => {
  const check = async (policy: Policy, old: Policy | undefined, hook: HookContext): Promise<undefined> => {
    const wrong = await expressionErrors(policy, old);
    const errors = [...(wrong.length === 0 ? [] : validate(policy)), ...wrong];
    if (errors.length === 0 && validate(policy).length === 0)
      errors.push(...(await paramKindErrors(deps, policy, old, hook)));
    if (errors.length > 0) throw invalidObject({ group, kind }, nameOf(policy as never), errors);
  };
  return {
    hooks: {
      beforeCreate: (object, hook) => check(object as Policy, undefined, hook),
      beforeUpdate: (object, old, hook) => check(object as Policy, old as Policy, hook),
    },
  };
};

async function paramRefError(
  { scheme, live, authorizer }: PolicyCheckDeps,
  policies: ResourceRef,
  { spec = {} }: Binding,
  user: UserInfo,
): Promise<string | undefined> {
  const { paramRef: reference = {}, policyName = '' } = spec;
  const policy = live.get(policies as ResourceRef<Policy>, policyName);
  const paramKind = policy?.spec?.paramKind;
  const everything = { group: '*', version: '*', resource: '*' };
  const resource = paramKind === undefined ? everything : resourceOf(paramKind, scheme);
  const verb = reference.name ? 'get' : 'list';
  const of = { ...resource, namespace: reference.namespace ?? '', name: reference.name ?? '' };
  if (await mayRead(authorizer, user, verb, of)) return undefined;
  const lacks = `user ${userText(user)} does not have "${verb}" permission`;
  const minimum = 'to determine minimum required permissions and';
  const forAll = 'for all groups, versions and resources';
  if (policy === undefined) return `unable to get policy ${policyName} ${minimum} ${lacks} ${forAll}`;
  if (paramKind !== undefined && resource.resource === '*')
    return `unable to resolve paramKind &{${paramKind.apiVersion ?? ''} ${paramKind.kind ?? ''}} ${minimum} ${lacks} ${forAll}`;
  return `${lacks} on the object referenced by paramRef`;
}

export const bindingChecks = (
  kind: string,
  deps: PolicyCheckDeps,
  policies: ResourceRef,
  validate: (binding: Binding) => readonly FieldError[],
): RestHandler => {
  const check = async (binding: Binding, old: Binding | undefined, hook: HookContext): Promise<undefined> => {
    const user = askerOf(hook);
    const { paramRef, policyName } = binding.spec ?? {};
    const isKnown = semanticEqual(paramRef, old?.spec?.paramRef) && policyName === old?.spec?.policyName;
    if (user === undefined || paramRef === undefined || isKnown || validate(binding).length > 0) return;
    const why = await paramRefError(deps, policies, binding, user);
    if (why !== undefined)
      throw invalidObject({ group, kind }, nameOf(binding as never), [forbidden('spec.paramRef', why)]);
  };
  return {
    hooks: {
      beforeCreate: (object, hook) => check(object as Binding, undefined, hook),
      beforeUpdate: (object, old, hook) => check(object as Binding, old as Binding, hook),
    },
  };
};
