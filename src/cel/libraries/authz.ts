// Kubernetes' authorizer library: expressions ask whether a user may do something. Who answers may need time, evaluation has none:
// a run that needs an answer which is not there ends, the answer is fetched, and the run begins anew with it.
import { dnsLabel, dnsSubdomain } from '../../apimachinery/validation/names.ts';
import { boolType, type CelType, stringType, structType } from '../cel-type.ts';
import type { FunctionDeclaration, Library, Overload } from '../declarations.ts';
import { creationCosts, type Estimate, fixed, plus, scaled, traversalFactor } from '../estimate.ts';
import { type CallCosts, nominal } from '../library-costs.ts';
import type { Outcome } from '../program.ts';
import { CelError, Opaque, type Value, valueSize } from '../value.ts';

/** What is asked of the authorizer. */
export interface AuthzQuestion {
  /** A service account instead of the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  readonly verb: string;
  /** Of what is no resource. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}
export interface AuthzAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  /** Why there is no decision. */
  readonly error?: string;
}

/** Thrown by `check` through the run, which is made again. */
class Unanswered extends Error {
  readonly question: AuthzQuestion;

  constructor(question: AuthzQuestion) {
    super('an authorizer is to be asked first');
    this.question = question;
  }
}

/** Of one request: each question is asked once. */
export class AuthzAnswers {
  private readonly known = new Map<string, AuthzAnswer>();
  private readonly ask: (question: AuthzQuestion) => Promise<AuthzAnswer>;

  constructor(ask: (question: AuthzQuestion) => Promise<AuthzAnswer>) {
    this.ask = ask;
  }
  answerTo(question: AuthzQuestion): AuthzAnswer {
    const found = this.known.get(JSON.stringify(question));
    if (!found) throw new Unanswered(question);
    return found;
  }
  /** Runs until all that was asked is answered. The cost is that of the last run, as if it had been the only one. */
  async settle(run: () => Outcome): Promise<Outcome> {
    for (;;) {
      try {
        return run();
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        const { question } = error;
        this.known.set(JSON.stringify(question), await this.ask(question));
      }
    }
  }
}

const named = (name: string): CelType => structType(`kubernetes.authorization.${name}`);
export const authorizerType: CelType = named('Authorizer');
export const resourceCheckType: CelType = named('ResourceCheck');
const pathCheckType = named('PathCheck');
const groupCheckType = named('GroupCheck');
const decisionType = named('Decision');

/** Part of a question. Two of them are the same only where they are one. */
class Check extends Opaque {
  readonly type: CelType;
  readonly answers: AuthzAnswers;
  readonly asked: Omit<AuthzQuestion, 'verb'>;

  constructor(type: CelType, answers: AuthzAnswers, asked: Omit<AuthzQuestion, 'verb'>) {
    super();
    this.type = type;
    this.answers = answers;
    this.asked = asked;
  }
  with(type: CelType, more: Partial<AuthzQuestion>): Check {
    return new Check(type, this.answers, { ...this.asked, ...more });
  }
  equalTo(other: Value): boolean {
    return this === other;
  }
}

class Decision extends Opaque {
  readonly type: CelType = decisionType;
  readonly answer: AuthzAnswer;

  constructor(answer: AuthzAnswer) {
    super();
    this.answer = answer;
  }
  equalTo(other: Value): boolean {
    return this === other;
  }
}

/** The variable `authorizer`. */
export const authorizerValue = (answers: AuthzAnswers): Value => new Check(authorizerType, answers, {});
/** The variable `authorizer.requestResource`. */
export const requestResourceValue = (
  answers: AuthzAnswers,
  resource: Pick<AuthzQuestion, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>,
): Value => new Check(resourceCheckType, answers, resource);

const isBlank = (text: string): boolean => text.trim() === '';

const method = (
  name: string,
  costs: CallCosts,
  ...overloads: readonly Omit<Overload, 'member'>[]
): FunctionDeclaration => ({
  name,
  overloads: overloads.map((overload) => ({ ...overload, member: true })),
  ...costs,
});
/** A member that adds one text to a question. */
const adding = (
  name: string,
  id: string,
  from: CelType,
  to: CelType,
  refuse?: string,
  costs: CallCosts = nominal,
): FunctionDeclaration =>
  method(name, costs, {
    id,
    params: [from, stringType],
    result: to,
    call: (check: Check, text: string) =>
      refuse !== undefined && isBlank(text) ? new CelError(refuse) : check.with(to, { [name]: text }),
  });
const reading = (name: string, result: CelType, read: (answer: AuthzAnswer) => Value): FunctionDeclaration =>
  method(name, nominal, {
    id: `decision_${name}`,
    params: [decisionType],
    result,
    call: ({ answer }: Decision) => read(answer),
  });

/** Two of them are all that an expression's budget allows. */
const checkCost = 350_000;
const deciding: CallCosts = { cost: () => checkCost, estimate: () => ({ cost: fixed(checkCost) }) };
const deciderOf = (id: string, from: CelType): Omit<Overload, 'member'> => ({
  id,
  params: [from, stringType],
  result: decisionType,
  call: (check: Check, verb: string) => new Decision(check.answers.answerTo({ ...check.asked, verb })),
});

/** A selector is read, and becomes a list of requirements. */
function selectorCost(size: Estimate): Estimate {
  const requirements = scaled(size, 0.5);
  const perRequirement = creationCosts.list + creationCosts.struct;
  return plus(fixed(creationCosts.list), scaled(size, traversalFactor), scaled(requirements, perRequirement));
}
const selecting: CallCosts = {
  cost: ([, selector]) => selectorCost(fixed(valueSize(selector!))).max,
  estimate: ({ args: [selector], sizeOf }) => selector && { cost: selectorCost(sizeOf(selector)) },
};

function serviceAccount(check: Check, namespace: string, name: string): Value {
  if (dnsSubdomain(name).length > 0) return new CelError('Invalid service account name');
  if (dnsLabel(namespace).length > 0) return new CelError('Invalid service account namespace');
  return check.with(authorizerType, { serviceAccount: { namespace, name } });
}

const resource = resourceCheckType;

export const authzLibrary: Library = {
  name: 'kubernetes.authz',
  functions: [
    adding('path', 'authorizer_path', authorizerType, pathCheckType, 'path must not be empty'),
    adding('group', 'authorizer_group', authorizerType, groupCheckType),
    method('serviceAccount', nominal, {
      id: 'authorizer_serviceaccount',
      params: [authorizerType, stringType, stringType],
      result: authorizerType,
      call: serviceAccount,
    }),
    adding('resource', 'groupcheck_resource', groupCheckType, resource, 'resource must not be empty'),
    adding('subresource', 'resourcecheck_subresource', resource, resource),
    adding('namespace', 'resourcecheck_namespace', resource, resource),
    adding('name', 'resourcecheck_name', resource, resource),
    adding('fieldSelector', 'authorizer_fieldselector', resource, resource, undefined, selecting),
    adding('labelSelector', 'authorizer_labelselector', resource, resource, undefined, selecting),
    method(
      'check',
      deciding,
      deciderOf('pathcheck_check', pathCheckType),
      deciderOf('resourcecheck_check', resource),
    ),
    reading('errored', boolType, ({ error }) => error !== undefined),
    reading('error', stringType, ({ error }) => error ?? ''),
    reading('allowed', boolType, ({ allowed }) => allowed),
    reading('reason', stringType, ({ reason }) => reason),
  ],
  equality: Object.fromEntries(
    [authorizerType, pathCheckType, groupCheckType, resource, decisionType].map((type) => [
      type.name,
      () => ({ cost: fixed(1) }),
    ]),
  ),
};
