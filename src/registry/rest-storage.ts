// What the API server knows about particular kinds, by resource and subresource.
import {
  validateMutatingBinding,
  validateMutatingPolicy,
  validateValidatingBinding,
  validateValidatingPolicy,
} from '../api/admissionregistration/v1/validate-policies.ts';
import { mutatingadmissionpolicies, validatingadmissionpolicies } from '../api/generated/resources.ts';
import type { Scheme } from '../apimachinery/declaration.ts';
import type { TokenAuthenticator } from '../apiserver/authentication/token-authenticator.ts';
import type { Authorizer } from '../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import { type RestHandler, type RestStorage, restKey } from '../apiserver/registry/rest-storage.ts';
import type { Random } from '../base/random.ts';
import { bindingChecks, policyChecks } from './admissionregistration/policy-checks.ts';
import { webhookConditions } from './admissionregistration/webhook-conditions.ts';
import { definitionRules } from './apiextensions/rule-check.ts';
import { createTokenReview, selfSubjectReview } from './authentication/reviews.ts';
import { createAccessReview, createRulesReview } from './authorization/access-reviews.ts';
import { scaleView } from './autoscaling/scale.ts';
import { type ComponentHealth, createComponentStatuses } from './core/component-status.ts';
import { podBinding } from './core/pod-binding.ts';
import { createServiceAccountToken, type TokenSigner } from './core/service-account-token.ts';
import { createServiceHooks, type ServiceAllocationDeps } from './core/service-allocation.ts';
import { createPodEviction } from './policy/pod-eviction.ts';
import { deviceSelectors } from './resource/device-selectors.ts';

export interface RegistryDependencies {
  readonly scheme: Scheme;
  readonly live: LiveObjects;
  readonly random: Random;
  readonly authorizer: Authorizer;
  readonly tokens: readonly TokenAuthenticator[];
  readonly signer: TokenSigner;
  readonly services: ServiceAllocationDeps;
  readonly componentHealth: ComponentHealth;
}

function policyEntries(deps: RegistryDependencies): [string, RestHandler][] {
  const registration = 'admissionregistration.k8s.io';
  return [
    [
      restKey(registration, 'mutatingadmissionpolicies'),
      policyChecks('MutatingAdmissionPolicy', deps, validateMutatingPolicy),
    ],
    [
      restKey(registration, 'mutatingadmissionpolicybindings'),
      bindingChecks(
        'MutatingAdmissionPolicyBinding',
        deps,
        mutatingadmissionpolicies,
        validateMutatingBinding,
      ),
    ],
    [
      restKey(registration, 'validatingadmissionpolicies'),
      policyChecks('ValidatingAdmissionPolicy', deps, validateValidatingPolicy),
    ],
    [
      restKey(registration, 'validatingadmissionpolicybindings'),
      bindingChecks(
        'ValidatingAdmissionPolicyBinding',
        deps,
        validatingadmissionpolicies,
        validateValidatingBinding as typeof validateMutatingBinding,
      ),
    ],
  ];
}

const deviceEntries = (['deviceclasses', 'resourceclaims', 'resourceclaimtemplates'] as const).map(
  (resource): [string, RestHandler] => [restKey('resource.k8s.io', resource), deviceSelectors(resource)],
);

const scales = (
  [
    ['', 'replicationcontrollers', 'plain'],
    ['apps', 'deployments', 'selector'],
    ['apps', 'replicasets', 'selector'],
    ['apps', 'statefulsets', 'selector'],
  ] as const
).map(([group, resource, form]): [string, RestHandler] => [
  restKey(group, resource, 'scale'),
  scaleView({ group, resource }, form),
]);

/** `more` are handlers of the composition: exec, log, portforward, proxy. */
export function restStorage(deps: RegistryDependencies, more: RestStorage = new Map()): RestStorage {
  const { live, random, authorizer, signer } = deps;
  const authorization = 'authorization.k8s.io';
  const authentication = 'authentication.k8s.io';
  const registration = 'admissionregistration.k8s.io';
  const entries: [string, RestHandler][] = [
    [restKey('', 'bindings'), podBinding],
    [restKey('', 'componentstatuses'), createComponentStatuses(deps.componentHealth)],
    [restKey('', 'pods', 'binding'), podBinding],
    [restKey('', 'pods', 'eviction'), createPodEviction(live)],
    [restKey('', 'serviceaccounts', 'token'), createServiceAccountToken({ signer, random })],
    [restKey('', 'services'), { hooks: createServiceHooks(deps.services) }],
    [restKey('apiextensions.k8s.io', 'customresourcedefinitions'), definitionRules],
    ...scales,
    [
      restKey(registration, 'mutatingwebhookconfigurations'),
      webhookConditions('MutatingWebhookConfiguration'),
    ],
    [
      restKey(registration, 'validatingwebhookconfigurations'),
      webhookConditions('ValidatingWebhookConfiguration'),
    ],
    ...policyEntries(deps),
    ...deviceEntries,
    [restKey(authentication, 'selfsubjectreviews'), selfSubjectReview],
    [
      restKey(authentication, 'tokenreviews'),
      createTokenReview({ tokens: deps.tokens, audiences: signer.audiences }),
    ],
    [
      restKey(authorization, 'localsubjectaccessreviews'),
      createAccessReview('LocalSubjectAccessReview', authorizer),
    ],
    [
      restKey(authorization, 'selfsubjectaccessreviews'),
      createAccessReview('SelfSubjectAccessReview', authorizer),
    ],
    [restKey(authorization, 'selfsubjectrulesreviews'), createRulesReview(deps.authorizer)],
    [restKey(authorization, 'subjectaccessreviews'), createAccessReview('SubjectAccessReview', authorizer)],
  ];
  return new Map([...entries, ...more]);
}
