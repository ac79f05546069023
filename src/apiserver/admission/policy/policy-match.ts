// Which policies are for a request, by which bindings and with which parameters. Expressions are not looked at here.
import { namespaces } from '../../../api/generated/resources.ts';
import type { JsonObject, ResourceDeclaration, Scheme } from '../../../apimachinery/declaration.ts';
import { isStatusError, notFound } from '../../../apimachinery/errors.ts';
import { meta, str } from '../../../apimachinery/json-access.ts';
import type { Clock } from '../../../base/clock.ts';
import { Slice } from '../../../base/turns.ts';
import type { MetricsRegistry } from '../../../component-base/metrics.ts';
import { threadTurns } from '../../../component-base/thread-turns.ts';
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { LiveObjects } from '../../live-objects.ts';
import type { KeptConversions } from '../../registry/kept-conversions.ts';
import type { AdmissionRequest } from '../admission.ts';
import type { Seen, WebhookMatcher } from '../webhook/matcher.ts';
import { ConfigurationError, type Param, Params, paramResource } from './params.ts';
import type { AnyBinding, AnyPolicy, PolicyBinding, PolicyHook } from './policy.ts';

/** A policy that is to be asked, for one of its bindings. */
export interface PolicyInvocation<P extends AnyPolicy, B extends AnyBinding> {
  readonly hook: PolicyHook<P, B>;
  readonly binding: PolicyBinding<B>;
  readonly seen: Seen;
  /** undefined: it is evaluated once, without any. */
  readonly params: readonly Param[] | undefined;
}

/** A policy that can't be asked. */
export interface PolicyFault<P extends AnyPolicy, B extends AnyBinding> {
  readonly hook: PolicyHook<P, B>;
  readonly binding: PolicyBinding<B> | undefined;
  readonly message: string;
}

export type PolicyMatch<P extends AnyPolicy, B extends AnyBinding> =
  | PolicyInvocation<P, B>
  | PolicyFault<P, B>;

const ownKinds: readonly string[] = [
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
];
const reviews: readonly string[] = [
  'authentication.k8s.io/selfsubjectreviews',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
];

/** Policies never decide on policies, or nobody could take a wrong one away; nor on who somebody is and what they may. */
export const isBeyondPolicies = ({ declaration: { group, resource } }: AdmissionRequest): boolean =>
  (group === 'admissionregistration.k8s.io' && ownKinds.includes(resource)) ||
  (group.startsWith('auth') && reviews.includes(`${group}/${resource}`));

/** What policies are asked with. */
export interface PolicyDeps {
  readonly matcher: PolicyMatcher;
  readonly scheme: Scheme;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
}

export class PolicyMatcher {
  readonly #matcher: WebhookMatcher;
  readonly #scheme: Scheme;
  readonly #live: LiveObjects;
  readonly #params: Params;
  readonly #clock: Clock;

  constructor(deps: {
    readonly matcher: WebhookMatcher;
    readonly scheme: Scheme;
    readonly live: LiveObjects;
    readonly conversions: KeptConversions;
    readonly clock: Clock;
  }) {
    this.#matcher = deps.matcher;
    this.#scheme = deps.scheme;
    this.#live = deps.live;
    this.#params = new Params(deps.live, deps.conversions);
    this.#clock = deps.clock;
  }

  /** Waits for nothing but parameters. */
  async matches<P extends AnyPolicy, B extends AnyBinding>(
    hooks: readonly PolicyHook<P, B>[],
    request: AdmissionRequest,
  ): Promise<readonly PolicyMatch<P, B>[]> {
    const found: PolicyMatch<P, B>[] = [];
    const slice = this.slice();
    for (const hook of hooks) {
      const seen = this.#seenBy(hook, request, found);
      if (seen !== undefined) await this.#bound(hook, seen, request, found, slice);
    }
    return found;
  }

  /** Of the time of one request: others have a turn between two pieces of it. */
  slice(): Slice {
    return new Slice(threadTurns, () => this.#clock.monotonic());
  }

  #seenBy<P extends AnyPolicy, B extends AnyBinding>(
    hook: PolicyHook<P, B>,
    request: AdmissionRequest,
    found: PolicyMatch<P, B>[],
  ): (Seen & { readonly resource: ResourceDeclaration | undefined }) | undefined {
    try {
      const seen = this.#matcher.seenBy(hook.criteria, request);
      if (seen === undefined) return undefined;
      return { ...seen, resource: hook.paramKind && paramResource(hook.paramKind, this.#scheme) };
    } catch (error) {
      found.push({ hook, binding: undefined, message: `failed to configure policy: ${whyOf(error)}` });
      return undefined;
    }
  }

  async #bound<P extends AnyPolicy, B extends AnyBinding>(
    hook: PolicyHook<P, B>,
    { resource, ...seen }: Seen & { readonly resource: ResourceDeclaration | undefined },
    request: AdmissionRequest,
    found: PolicyMatch<P, B>[],
    slice: Slice,
  ): Promise<void> {
    for (const binding of hook.bindings)
      try {
        const { criteria, paramRef } = binding;
        if (criteria !== undefined && this.#matcher.seenBy(criteria, request) === undefined) continue;
        let params: readonly Param[] | undefined;
        if (resource !== undefined && paramRef !== undefined) {
          if (slice.over) await slice.next();
          params = await this.#params.of(resource, hook.paramKind!, paramRef, request);
        }
        if (params?.length !== 0) found.push({ hook, binding, seen, params });
      } catch (error) {
        found.push({ hook, binding, message: `failed to configure binding: ${whyOf(error)}` });
      }
  }

  /** The namespace that a request is in, as expressions see it. Throws 404. */
  namespaceObject({ namespace, declaration }: AdmissionRequest): JsonObject | undefined {
    if (namespace === '' || (declaration.group === '' && declaration.kind === 'Namespace')) return undefined;
    const found = this.#live.get(namespaces, namespace) as JsonObject | undefined;
    if (found === undefined) throw notFound(namespaces, namespace);
    const { managedFields: _, ownerReferences: __, selfLink: ___, ...metadata } = meta(found);
    return { ...found, metadata };
  }
}

/** Of what `failurePolicy` decides on. Throws what is no such thing. */
function whyOf(error: unknown): string {
  if (error instanceof ConfigurationError || isStatusError(error)) return error.message;
  throw error;
}

/** How a refusal calls what it refuses. */
export const refusedName = ({ name, object }: AdmissionRequest): string => {
  if (name !== '') return name;
  const { name: given, generateName } = meta(object ?? {});
  return str(given) || str(generateName) || 'Unknown';
};
