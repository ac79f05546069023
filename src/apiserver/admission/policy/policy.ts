// Policies with the bindings that put them in force, as admission looks at them; made anew when one of either is written.
import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/generated/types/admissionregistration-v1.ts';
import type { ResourceRef } from '../../../apimachinery/resource-ref.ts';
import type { LiveObjects } from '../../live-objects.ts';
import type { MatchCriteria } from '../webhook/matcher.ts';
import { selectorOrError } from '../webhook/webhook.ts';

export type AnyPolicy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy;
export type AnyBinding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding;

export interface PolicyBinding<B extends AnyBinding = AnyBinding> {
  readonly name: string;
  readonly binding: B;
  /** undefined: wherever the policy is. */
  readonly criteria: MatchCriteria | undefined;
  readonly paramRef: ParamRef | undefined;
}

/** A policy that is bound. */
export interface PolicyHook<P extends AnyPolicy = AnyPolicy, B extends AnyBinding = AnyBinding> {
  readonly name: string;
  /** Differs for what must be compiled anew. */
  readonly version: string;
  readonly policy: P;
  readonly criteria: MatchCriteria;
  readonly failsOpen: boolean;
  readonly paramKind: ParamKind | undefined;
  readonly bindings: readonly PolicyBinding<B>[];
}

const criteriaOf = (match: MatchResources): MatchCriteria => ({
  rules: match.resourceRules ?? [],
  excluded: match.excludeResourceRules ?? [],
  forAll: true,
  equivalent: match.matchPolicy !== 'Exact',
  namespaces: selectorOrError(match.namespaceSelector),
  objects: selectorOrError(match.objectSelector),
});

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

function hooksOf<P extends AnyPolicy, B extends AnyBinding>(
  policies: readonly P[],
  bindings: readonly B[],
): PolicyHook<P, B>[] {
  const byPolicy = Map.groupBy(bindings, ({ spec }) => spec.policyName ?? '');
  return policies
    .flatMap((policy): PolicyHook<P, B>[] => {
      const { name = '', uid = '', generation = 0 } = policy.metadata;
      const bound = byPolicy.get(name);
      if (bound === undefined) return [];
      const { matchConstraints = {}, failurePolicy, paramKind } = policy.spec;
      return [
        {
          name,
          version: `${uid}/${generation}`,
          policy,
          criteria: criteriaOf(matchConstraints),
          failsOpen: failurePolicy === 'Ignore',
          paramKind,
          bindings: bound
            .map((binding) => ({
              name: binding.metadata.name ?? '',
              binding,
              criteria: binding.spec.matchResources && criteriaOf(binding.spec.matchResources),
              paramRef: binding.spec.paramRef,
            }))
            .sort(byName),
        },
      ];
    })
    .sort(byName);
}

export function policySource<P extends AnyPolicy, B extends AnyBinding>(
  live: LiveObjects,
  policies: ResourceRef<P>,
  bindings: ResourceRef<B>,
): () => readonly PolicyHook<P, B>[] {
  let policyVersion = -1;
  let bindingVersion = -1;
  let hooks: readonly PolicyHook<P, B>[] = [];
  return () => {
    const [policyNow, bindingNow] = [live.version(policies), live.version(bindings)];
    if (policyNow !== policyVersion || bindingNow !== bindingVersion) {
      [policyVersion, bindingVersion] = [policyNow, bindingNow];
      hooks = hooksOf(live.list(policies), live.list(bindings));
    }
    return hooks;
  };
}

/** What is compiled of each policy: once for each version, and no longer than the policy is in force. */
export class CompiledPolicies<P extends AnyPolicy, Compiled> {
  readonly #compile: (policy: P) => Compiled;
  #hooks: readonly PolicyHook[] | undefined;
  #compiled = new Map<string, Compiled>();

  constructor(compile: (policy: P) => Compiled) {
    this.#compile = compile;
  }

  /** `hooks`: all that are in force. */
  of(hook: PolicyHook<P>, hooks: readonly PolicyHook[]): Compiled {
    if (hooks !== this.#hooks) {
      const inForce = new Set(hooks.map(({ version }) => version));
      for (const version of this.#compiled.keys()) if (!inForce.has(version)) this.#compiled.delete(version);
      this.#hooks = hooks;
    }
    let compiled = this.#compiled.get(hook.version);
    if (compiled === undefined) {
      compiled = this.#compile(hook.policy);
      this.#compiled.set(hook.version, compiled);
    }
    return compiled;
  }
}
