// What both kinds of admission policies do alike: which of them are for a request, and the language of policies loaded with the first.
import { loadOnce } from '../../../base/load-once.ts';
import type { AdmissionRequest } from '../admission.ts';
import type { AnyBinding, AnyPolicy, PolicyHook } from './policy.ts';
import { isBeyondPolicies, type PolicyDeps, type PolicyMatch } from './policy-match.ts';

type Decide<P extends AnyPolicy, B extends AnyBinding> = (
  request: AdmissionRequest,
  matches: readonly PolicyMatch<P, B>[],
  hooks: readonly PolicyHook<P, B>[],
) => Promise<void>;

/** Undefined where no policy is for the request; else waits for their decision, which throws StatusError. */
export function decidedByPolicies<P extends AnyPolicy, B extends AnyBinding>(
  deps: PolicyDeps,
  inForce: () => readonly PolicyHook<P, B>[],
  load: () => Promise<Decide<P, B>>,
): (request: AdmissionRequest) => Promise<void> | undefined {
  const loaded = loadOnce(load);
  const ask = async (request: AdmissionRequest, hooks: readonly PolicyHook<P, B>[]): Promise<void> => {
    const matches = await deps.matcher.matches(hooks, request);
    if (matches.length === 0) return;
    const decide = await loaded();
    await decide(request, matches, hooks);
  };
  return (request) => {
    const hooks = inForce();
    return hooks.length === 0 || isBeyondPolicies(request) ? undefined : ask(request, hooks);
  };
}
