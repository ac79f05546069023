// MutatingAdmissionPolicy: changes objects as the policies of the cluster say. The language of policies is loaded with the first of them.
import { mutatingadmissionpolicies, mutatingadmissionpolicybindings } from '../../api/generated/resources.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { MutatingPolicies } from '../../apiserver/admission/policy/mutating-policies.ts';
import { policySource } from '../../apiserver/admission/policy/policy.ts';
import { isBeyondPolicies, type PolicyDeps } from '../../apiserver/admission/policy/policy-match.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';

export function createMutatingAdmissionPolicy(live: LiveObjects, deps: PolicyDeps): AdmissionPlugin {
  const inForce = policySource(live, mutatingadmissionpolicies, mutatingadmissionpolicybindings);
  let policies: MutatingPolicies | undefined;
  const ask = async (request: AdmissionRequest, hooks: ReturnType<typeof inForce>): Promise<void> => {
    const matches = await deps.matcher.matches(hooks, request);
    if (matches.length === 0) return;
    if (policies === undefined) {
      const loaded = await import('../../apiserver/admission/policy/mutating-policies.ts');
      policies ??= new loaded.MutatingPolicies(deps);
    }
    await policies.admit(request, matches, hooks);
  };
  return {
    name: 'MutatingAdmissionPolicy',
    // Nothing is left of an object to change when it is deleted.
    operations: ['CREATE', 'UPDATE', 'CONNECT'],
    admit(request) {
      const hooks = inForce();
      if (hooks.length === 0 || isBeyondPolicies(request)) return undefined;
      return ask(request, hooks);
    },
  };
}
