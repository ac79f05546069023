// The kinds of admissionregistration.k8s.io/v1: webhooks and policies.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { FieldError } from '../../../apimachinery/field-error.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '../../generated/types/admissionregistration-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import {
  validateMutatingBinding,
  validateMutatingPolicy,
  validatePolicyStatus,
  validateValidatingBinding,
  validateValidatingPolicy,
  withoutKnownConditions,
} from './validate-policies.ts';
import { validateWebhooks, validateWebhooksUpdate } from './validate-webhooks.ts';

function webhookDefaults(configuration: Decoded<MutatingWebhookConfiguration>, mutating: boolean): void {
  for (const webhook of configuration.webhooks ?? []) {
    webhook.failurePolicy ??= 'Fail';
    webhook.matchPolicy ??= 'Equivalent';
    webhook.namespaceSelector ??= {};
    webhook.objectSelector ??= {};
    webhook.timeoutSeconds ??= 10;
    if (mutating) webhook.reinvocationPolicy ??= 'Never';
    const service = webhook.clientConfig?.service;
    if (service !== undefined) service.port ??= 443;
    for (const rule of webhook.rules ?? []) rule.scope ??= '*';
  }
}

function matchDefaults(match: Decoded<MatchResources> | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])])
    rule.scope ??= '*';
}

const kindText = (kind: Decoded<ParamKind> | undefined): string =>
  kind !== undefined ? `${kind.apiVersion ?? ''}/${kind.kind ?? ''}` : '<unset>';

function refText(reference: Decoded<ParamRef> | undefined): string {
  if (reference === undefined) return '<unset>';
  const namespace = reference.namespace ?? '';
  if (reference.name) return namespace === '' ? reference.name : `${namespace}/${reference.name}`;
  return namespace === '' ? '*' : `${namespace}/*`;
}

const webhooks = (mutating: boolean): KindBehaviour<MutatingWebhookConfiguration> => ({
  hasGeneration: true,
  row: (o, now) => [nameCell(o), (o.webhooks ?? []).length, ageCell(o, now)],
  ownUpdateRules: true,
  strategy: {
    applyDefaults: (o) => webhookDefaults(o, mutating),
    validate: validateWebhooks,
    validateUpdate: validateWebhooksUpdate,
    allowUnconditionalUpdate: false,
  },
});
type Policy = MutatingAdmissionPolicy & ValidatingAdmissionPolicy;
const policy = (
  list: 'mutations' | 'validations',
  validate: (policy: Decoded<Policy>) => FieldError[],
): KindBehaviour<Policy> => ({
  hasGeneration: true,
  row: (o, now) => [nameCell(o), o.spec?.[list]?.length ?? 0, kindText(o.spec?.paramKind), ageCell(o, now)],
  ownUpdateRules: true,
  strategy: {
    applyDefaults(o) {
      const s = ensured(o, 'spec');
      s.failurePolicy ??= 'Fail';
      matchDefaults(s.matchConstraints);
    },
    validate,
    validateUpdate: (o, old, { subresource }) =>
      subresource === 'status' ? validatePolicyStatus(o) : withoutKnownConditions(validate(o), o, old),
    keptByStatus: 'all',
    allowUnconditionalUpdate: false,
  },
});
const policyBinding = (
  validate: (binding: Decoded<ValidatingAdmissionPolicyBinding>) => FieldError[],
): KindBehaviour<ValidatingAdmissionPolicyBinding> => ({
  hasGeneration: true,
  row: (o, now) => [nameCell(o), o.spec?.policyName ?? '', refText(o.spec?.paramRef), ageCell(o, now)],
  ownUpdateRules: true,
  strategy: {
    applyDefaults: (o) => matchDefaults(o.spec?.matchResources),
    validate,
    validateUpdate: (o) => validate(o),
    allowUnconditionalUpdate: false,
  },
});

export const admissionregistrationV1: GroupBehaviours<{
  mutatingadmissionpolicies: MutatingAdmissionPolicy;
  mutatingadmissionpolicybindings: MutatingAdmissionPolicyBinding;
  mutatingwebhookconfigurations: MutatingWebhookConfiguration;
  validatingadmissionpolicies: ValidatingAdmissionPolicy;
  validatingadmissionpolicybindings: ValidatingAdmissionPolicyBinding;
  validatingwebhookconfigurations: ValidatingWebhookConfiguration;
}> = {
  mutatingadmissionpolicies: policy('mutations', validateMutatingPolicy),
  mutatingadmissionpolicybindings: policyBinding(validateMutatingBinding),
  mutatingwebhookconfigurations: webhooks(true),
  validatingadmissionpolicies: policy('validations', validateValidatingPolicy),
  validatingadmissionpolicybindings: policyBinding(validateValidatingBinding),
  validatingwebhookconfigurations: webhooks(false),
};
