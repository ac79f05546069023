// MutatingAdmissionPolicy: changes objects as the policies of the cluster say.
import { mutatingadmissionpolicies, mutatingadmissionpolicybindings } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { decidedByPolicies } from '../../apiserver/admission/policy/decided-by-policies.ts';
import { policySource } from '../../apiserver/admission/policy/policy.ts';
import type { PolicyDeps } from '../../apiserver/admission/policy/policy-match.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';

export function createMutatingAdmissionPolicy(live: LiveObjects, deps: PolicyDeps): AdmissionPlugin {
  const inForce = policySource(live, mutatingadmissionpolicies, mutatingadmissionpolicybindings);
  return {
    name: 'MutatingAdmissionPolicy',
    // Nothing is left of an object to change when it is deleted.
    operations: ['CREATE', 'UPDATE', 'CONNECT'],
    admit: decidedByPolicies(deps, inForce, async () => {
      const { MutatingPolicies } = await import('../../apiserver/admission/policy/mutating-policies.ts');
      const policies = new MutatingPolicies(deps);
      return (request, matches, hooks) => policies.admit(request, matches, hooks);
    }),
  };
}
