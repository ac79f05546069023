// ValidatingAdmissionPolicy: refuses what the policies of the cluster do not allow. The language of policies is loaded with the first of them.
import {
  validatingadmissionpolicies,
  validatingadmissionpolicybindings,
} from '../../api/generated/resources.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import { policySource } from '../../apiserver/admission/policy/policy.ts';
import { isBeyondPolicies, type PolicyDeps } from '../../apiserver/admission/policy/policy-match.ts';
import type { ValidatingPolicies } from '../../apiserver/admission/policy/validating-policies.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';

export function createValidatingAdmissionPolicy(live: LiveObjects, deps: PolicyDeps): AdmissionPlugin {
  const inForce = policySource(live, validatingadmissionpolicies, validatingadmissionpolicybindings);
  let policies: ValidatingPolicies | undefined;
  const ask = async (request: AdmissionRequest, hooks: ReturnType<typeof inForce>): Promise<void> => {
    const matches = await deps.matcher.matches(hooks, request);
    if (matches.length === 0) return;
    if (policies === undefined) {
      const loaded = await import('../../apiserver/admission/policy/validating-policies.ts');
      policies ??= new loaded.ValidatingPolicies(deps);
    }
    await policies.validate(request, matches, hooks);
  };
  return {
    name: 'ValidatingAdmissionPolicy',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    validate(request) {
      const hooks = inForce();
      if (hooks.length === 0 || isBeyondPolicies(request)) return undefined;
      return ask(request, hooks);
    },
  };
}
