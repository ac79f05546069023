// Asks validating policies about a request: what their expressions say becomes refusals, warnings and annotations.
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/generated/types/admissionregistration-v1.ts';
import { forbidden, StatusError } from '../../../apimachinery/errors.ts';
import { htmlSafeJson } from '../../../base/html-safe-json.ts';
import type { Slice } from '../../../base/turns.ts';
import type { AuthzAnswers } from '../../../cel/libraries/authz.ts';
import type { AdmissionRequest } from '../admission.ts';
import { answersAbout } from '../authorizer-answers.ts';
import { objectsFor } from '../webhook/validating-dispatch.ts';
import type { WebhookObjects } from '../webhook/webhook-caller.ts';
import { eachParam } from './params.ts';
import { CompiledPolicies, type PolicyHook } from './policy.ts';
import { type PolicyDeps, type PolicyInvocation, type PolicyMatch, refusedName } from './policy-match.ts';
import { type ErrorType, errorTypeOf, validatingMetrics } from './policy-metrics.ts';
import {
  type CompiledValidation,
  compileValidation,
  type Decision,
  evaluateValidation,
} from './validation.ts';

type Policy = ValidatingAdmissionPolicy;
type Binding = ValidatingAdmissionPolicyBinding;
type Match = PolicyMatch<Policy, Binding>;

interface Denial {
  readonly match: Match;
  readonly message: string;
  readonly reason?: string | undefined;
}

const codes: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};
const maxAnnotationBytes = 10 * 1024;
/** Headers have room for far fewer. */
const maxWarnings = 100;

/** Bytes, and no half of a character. */
function truncated(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxAnnotationBytes) return text;
  let end = maxAnnotationBytes;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** What the bindings of a policy have to say to the audit log: values of one key are told together. */
class Annotations {
  readonly #values = new Map<string, Set<string>>();
  add(key: string, value: string): void {
    const values = this.#values.get(key);
    if (values === undefined) this.#values.set(key, new Set([value]));
    else values.add(value);
  }
  publish(policy: string, request: AdmissionRequest): void {
    for (const [key, values] of this.#values) request.annotate(`${policy}/${key}`, [...values].join(', '));
  }
}

/** One request: what its policies have said so far. */
class Verdict {
  readonly denials: Denial[] = [];
  readonly request: AdmissionRequest;
  readonly answers: AuthzAnswers;
  readonly slice: Slice;
  #warnings = 0;
  readonly #annotations = new Map<PolicyHook, Annotations>();
  readonly #objects = new Map<unknown, Promise<WebhookObjects>>();

  constructor(request: AdmissionRequest, answers: AuthzAnswers, slice: Slice) {
    this.request = request;
    this.answers = answers;
    this.slice = slice;
  }
  warn(text: string): void {
    if (this.#warnings++ < maxWarnings) this.request.warn(text);
  }
  annotationsOf(hook: PolicyHook): Annotations {
    let found = this.#annotations.get(hook);
    if (found === undefined) {
      found = new Annotations();
      this.#annotations.set(hook, found);
    }
    return found;
  }
  /** Converted once for all who see the same version. */
  objectsFor({ seen: { seen } }: PolicyInvocation<Policy, Binding>): Promise<WebhookObjects> {
    const found = this.#objects.get(seen) ?? objectsFor(this.request, { seen });
    this.#objects.set(seen, found);
    return found;
  }
  /** Throws StatusError. */
  end(): void {
    for (const [hook, annotations] of this.#annotations) annotations.publish(hook.name, this.request);
    const [first] = this.denials;
    if (first === undefined) return;
    const { request } = this;
    const { hook, binding } = first.match;
    const by = binding === undefined ? '' : ` with binding '${binding.name}'`;
    const message = `ValidatingAdmissionPolicy '${hook.name}'${by} denied request: ${first.message}`;
    const refusal = forbidden(request.declaration, refusedName(request), message);
    const reason = first.reason ?? 'Invalid';
    throw new StatusError(codes[reason] ?? 422, reason, refusal.message, {
      ...refusal.status.details,
      causes: [{ message }],
    });
  }
}

export class ValidatingPolicies {
  readonly #deps: PolicyDeps;
  readonly #metrics: ReturnType<typeof validatingMetrics>;
  readonly #compiled = new CompiledPolicies<Policy, CompiledValidation>(compileValidation);

  constructor(deps: PolicyDeps) {
    this.#deps = deps;
    this.#metrics = validatingMetrics(deps.metrics);
  }

  /** Throws StatusError. */
  async validate(
    request: AdmissionRequest,
    matches: readonly Match[],
    hooks: readonly PolicyHook<Policy, Binding>[],
  ): Promise<void> {
    const { authorizer, matcher } = this.#deps;
    const verdict = new Verdict(request, answersAbout(request, authorizer), matcher.slice());
    for (const match of matches)
      if ('message' in match) {
        if (!match.hook.failsOpen) verdict.denials.push({ match, message: match.message });
      } else await this.#ask(match, verdict, this.#compiled.of(match.hook, hooks));
    verdict.end();
  }

  async #ask(
    match: PolicyInvocation<Policy, Binding>,
    verdict: Verdict,
    compiled: CompiledValidation,
  ): Promise<void> {
    const { hook, seen, params } = match;
    let objects: WebhookObjects;
    try {
      objects = await verdict.objectsFor(match);
    } catch (error) {
      const why = `failed to configure binding: failed to convert object version: ${(error as Error).message}`;
      if (!hook.failsOpen) verdict.denials.push({ match, message: why });
      return;
    }
    const { request, answers, slice } = verdict;
    const namespace = this.#deps.matcher.namespaceObject(request);
    for await (const param of eachParam(params, slice)) {
      const subject = { request, seen, objects, namespace, params: param, answers };
      const result = await evaluateValidation(compiled, subject, hook.failsOpen, this.#deps.clock);
      result.decisions.forEach((decision, index) => {
        this.#decide(match, decision, index, verdict);
      });
      for (const annotation of result.annotations)
        if (annotation.error === undefined)
          verdict.annotationsOf(hook).add(annotation.key, truncated(annotation.value));
        else {
          const error = { message: annotation.error, seconds: annotation.seconds, isError: true };
          this.#deny(match, error, verdict);
        }
    }
  }

  #count(match: PolicyInvocation<Policy, Binding>, decision: Decision, action: string): void {
    const type: ErrorType = decision.isError ? errorTypeOf(decision.message) : 'no_error';
    this.#metrics.checked(match.hook.name, match.binding.name, type, action, decision.seconds);
  }

  #deny(match: PolicyInvocation<Policy, Binding>, decision: Decision, verdict: Verdict): void {
    verdict.denials.push({ match, message: decision.message, reason: decision.reason });
    this.#count(match, decision, 'deny');
  }

  #decide(
    match: PolicyInvocation<Policy, Binding>,
    decision: Decision & { readonly admitted?: boolean },
    index: number,
    verdict: Verdict,
  ): void {
    if (decision.admitted === true) {
      if (decision.isError) this.#count(match, decision, 'allow');
      return;
    }
    const { name } = match.hook;
    const { validationActions, policyName } = match.binding.binding.spec;
    for (const action of validationActions)
      if (action === 'Deny') this.#deny(match, decision, verdict);
      else if (action === 'Warn') {
        const by = `'${name}' with binding '${match.binding.name}'`;
        verdict.warn(`Validation failed for ValidatingAdmissionPolicy ${by}: ${decision.message}`);
        this.#count(match, decision, 'warn');
      } else if (action === 'Audit') {
        verdict.request.annotate(
          'validation.policy.admission.k8s.io/validation_failure',
          htmlSafeJson([
            {
              message: decision.message,
              policy: policyName,
              binding: match.binding.name,
              expressionIndex: index,
              validationActions,
            },
          ]),
        );
        this.#count(match, decision, 'audit');
      }
  }
}
