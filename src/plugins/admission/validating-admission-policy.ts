// ValidatingAdmissionPolicy: refuses what the policies of the cluster do not allow.
import {
  validatingadmissionpolicies,
  validatingadmissionpolicybindings,
} from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { decidedByPolicies } from '../../apiserver/admission/policy/decided-by-policies.ts';
import { policySource } from '../../apiserver/admission/policy/policy.ts';
import type { PolicyDeps } from '../../apiserver/admission/policy/policy-match.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';

export function createValidatingAdmissionPolicy(live: LiveObjects, deps: PolicyDeps): AdmissionPlugin {
  const inForce = policySource(live, validatingadmissionpolicies, validatingadmissionpolicybindings);
  return {
    name: 'ValidatingAdmissionPolicy',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    validate: decidedByPolicies(deps, inForce, async () => {
      const { ValidatingPolicies } = await import('../../apiserver/admission/policy/validating-policies.ts');
      const policies = new ValidatingPolicies(deps);
      return (request, matches, hooks) => policies.validate(request, matches, hooks);
    }),
  };
}
