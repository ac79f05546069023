// Asks mutating policies about a request, one after the other, each with what those before it made of the object; and again, as they
// want it, when others have changed it after them.
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../../../api/generated/types/admissionregistration-v1.ts';
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { forbidden, isStatusError, StatusError } from '../../../apimachinery/errors.ts';
import { copyJson, meta, str } from '../../../apimachinery/json-access.ts';
import type { Slice } from '../../../base/turns.ts';
import type { AuthzAnswers } from '../../../cel/libraries/authz.ts';
import type { AdmissionRequest } from '../admission.ts';
import { answersAbout } from '../authorizer-answers.ts';
import { aggregated, conditionsHold, OutOfBudgetError, type Subject } from '../expression-run.ts';
import { askAgain, type Rounds } from '../rounds.ts';
import { type CompiledMutations, compileMutations, MutationError, mutatedObject } from './mutation.ts';
import { eachParam } from './params.ts';
import { CompiledPolicies, type PolicyHook } from './policy.ts';
import { type PolicyDeps, type PolicyInvocation, type PolicyMatch, refusedName } from './policy-match.ts';
import { errorTypeOf, mutatingMetrics } from './policy-metrics.ts';
import { SeenObjects } from './seen-objects.ts';

type Policy = MutatingAdmissionPolicy;
type Binding = MutatingAdmissionPolicyBinding;
type Match = PolicyMatch<Policy, Binding>;
type Invocation = PolicyInvocation<Policy, Binding>;

interface Fault {
  readonly match: Match;
  readonly message: string;
  readonly reason?: string;
}

/** One request in one round. */
interface Asking {
  readonly request: AdmissionRequest;
  readonly rounds: Rounds;
  readonly objects: SeenObjects;
  readonly answers: AuthzAnswers;
  readonly namespace: JsonObject | undefined;
  readonly faults: Fault[];
  readonly slice: Slice;
}

/** One policy, one binding, one parameter. */
function keyOf({ hook, binding }: Invocation, param: JsonObject | undefined): string {
  const { name, namespace } = meta(param ?? {});
  return JSON.stringify([hook.name, binding.name, str(namespace), str(name)]);
}

function refusalOf(request: AdmissionRequest, faults: readonly Fault[]): StatusError {
  const texts = faults.map(({ match: { hook, binding }, message }) =>
    binding === undefined
      ? `policy ${JSON.stringify(hook.name)} denied request: ${message}`
      : `policy '${hook.name}' with binding '${binding.name}' denied request: ${message}`,
  );
  const { status } = forbidden(request.declaration, refusedName(request), '');
  return new StatusError(403, faults[0]!.reason ?? 'Forbidden', texts[0]!, {
    ...status.details,
    causes: texts.map((message) => ({ message })),
  });
}

export class MutatingPolicies {
  readonly #deps: PolicyDeps;
  readonly #metrics: ReturnType<typeof mutatingMetrics>;
  readonly #compiled = new CompiledPolicies<Policy, CompiledMutations>(compileMutations);
  readonly #rounds = new WeakMap<AdmissionRequest, Rounds>();

  constructor(deps: PolicyDeps) {
    this.#deps = deps;
    this.#metrics = mutatingMetrics(deps.metrics);
  }

  /** Changes `request.object`. Throws StatusError. */
  async admit(
    request: AdmissionRequest,
    matches: readonly Match[],
    hooks: readonly PolicyHook<Policy, Binding>[],
  ): Promise<void> {
    const rounds = this.#rounds.get(request) ?? { asked: new Set(), again: new Set(), left: undefined };
    this.#rounds.set(request, rounds);
    const { reinvocation } = request;
    // Then the plugins have changed it, which were asked again as well.
    if (reinvocation.again && rounds.asked.size > 0 && !semanticEqual(rounds.left, request.object))
      askAgain(rounds);
    const asking: Asking = {
      request,
      rounds,
      objects: new SeenObjects(request),
      answers: answersAbout(request, this.#deps.authorizer),
      namespace: matches.some((match) => !('message' in match))
        ? this.#deps.matcher.namespaceObject(request)
        : undefined,
      faults: [],
      slice: this.#deps.matcher.slice(),
    };
    let isWritten = false;
    for (const match of matches)
      if ('message' in match) asking.faults.push({ match, message: match.message });
      else if (await this.#sees(match, asking)) {
        const compiled = this.#compiled.of(match.hook, hooks);
        for await (const param of eachParam(match.params, asking.slice))
          if (await this.#ask(match, param, compiled, asking)) isWritten = true;
      }
    await asking.objects.settle();
    if (isWritten) {
      askAgain(rounds);
      reinvocation.wanted = true;
    }
    if (rounds.asked.size > 0) rounds.left = copyJson(request.object);
    const counted = asking.faults.filter(({ match }) => !match.hook.failsOpen);
    if (counted.length > 0) throw refusalOf(request, counted);
  }

  /** Whether there is something that it can be asked about. */
  async #sees({ hook, seen: { seen } }: Invocation, { objects, faults }: Asking): Promise<boolean> {
    await objects.settle(seen);
    try {
      await objects.of(seen);
      return true;
    } catch (error) {
      // As upstream, it is the policy that is at fault, not the binding.
      const message = `failed to configure policy: ${(error as Error).message}`;
      faults.push({ match: { hook, binding: undefined, message }, message });
      return false;
    }
  }

  /** Whether one of its mutations was applied. */
  async #ask(
    match: Invocation,
    params: JsonObject | undefined,
    compiled: CompiledMutations,
    asking: Asking,
  ): Promise<boolean> {
    const { request, rounds, objects } = asking;
    if (!(await this.#holds(match, params, compiled, asking))) return false;
    const key = keyOf(match, params);
    if (request.reinvocation.again && !rounds.again.has(key)) return false;
    const { seen } = match.seen;
    const before = (await objects.of(seen)).object;
    let isWritten = false;
    for (const mutation of compiled.mutations)
      if (await this.#mutate(match, params, compiled, mutation, asking)) isWritten = true;
    if (isWritten && !semanticEqual(before, (await objects.of(seen)).object)) {
      askAgain(rounds);
      request.reinvocation.wanted = true;
    }
    if (match.hook.policy.spec.reinvocationPolicy === 'IfNeeded') rounds.asked.add(key);
    return isWritten;
  }

  async #subject(
    { seen }: Invocation,
    params: JsonObject | undefined,
    { variables }: CompiledMutations,
    { request, objects, answers, namespace }: Asking,
  ): Promise<Subject> {
    return { request, seen, objects: await objects.of(seen.seen), namespace, params, answers, variables };
  }

  async #holds(
    match: Invocation,
    params: JsonObject | undefined,
    compiled: CompiledMutations,
    asking: Asking,
  ): Promise<boolean> {
    if (compiled.conditions.length === 0) return true;
    const subject = { ...(await this.#subject(match, params, compiled, asking)), namespace: undefined };
    const hold = await conditionsHold(compiled.conditions, subject).catch((error: unknown) => {
      if (error instanceof OutOfBudgetError) return [error.message];
      throw error;
    });
    if (typeof hold === 'boolean') return hold;
    asking.faults.push({ match, message: aggregated(hold), reason: 'Invalid' });
    return false;
  }

  async #mutate(
    match: Invocation,
    params: JsonObject | undefined,
    compiled: CompiledMutations,
    mutation: CompiledMutations['mutations'][number],
    asking: Asking,
  ): Promise<boolean> {
    const { clock, scheme } = this.#deps;
    const subject = await this.#subject(match, params, compiled, asking);
    const { object } = subject.objects;
    if (object === undefined) return false;
    const from = clock.monotonic();
    const count = (why?: string): void =>
      this.#metrics.checked(
        match.hook.name,
        match.binding.name,
        why === undefined ? 'no_error' : errorTypeOf(why),
        (clock.monotonic() - from) / 1000,
      );
    try {
      const made = await mutatedObject(
        mutation,
        { ...subject, objects: { ...subject.objects, object } },
        scheme,
      );
      await asking.objects.write(match.seen.seen, made);
      count();
      return true;
    } catch (error) {
      count((error as Error).message);
      if (isStatusError(error)) throw error;
      if (!(error instanceof MutationError || error instanceof OutOfBudgetError)) throw error;
      asking.faults.push({ match, message: error.message, reason: 'Invalid' });
      return false;
    }
  }
}
