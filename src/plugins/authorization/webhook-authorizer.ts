// Asks a service of somebody else with a SubjectAccessReview; what it says holds for a while.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { bool, str } from '../../apimachinery/json-access.ts';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '../../apiserver/authorization/authorizer.ts';
import {
  fieldRequirements,
  labelRequirements,
  type SelectorRequirement,
} from '../../apiserver/authorization/selector-requirements.ts';
import type { Clock } from '../../base/clock.ts';
import { KeptAnswers } from '../../base/kept-answers.ts';
import type { RemoteReviewer } from '../webhook/remote-reviewer.ts';
import { reviewStatus } from '../webhook/review-status.ts';
import { allHold, compileCondition } from './webhook/review-conditions.ts';

export interface WebhookAuthorizerOptions {
  readonly reviewer: RemoteReviewer;
  readonly clock: Clock;
  readonly version: 'v1' | 'v1beta1';
  /** 0: not kept. */
  readonly authorizedMs: number;
  readonly unauthorizedMs: number;
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** CEL over `request`; all must hold. */
  readonly conditions: readonly string[];
  /** Told of each question without an answer. */
  readonly failed: (error: Error) => void;
  /** How long it took to look at the conditions, and how that went. */
  readonly matched?: (how: 'all' | 'excluded' | 'failed', seconds: number) => void;
}

/** Selectors are part of what is asked, and a reason is as long as the service likes. */
const bounds = { most: 8192, room: 16 << 20, longest: 64 << 10 };
/** As upstream: what its sender made longer than this is asked for anew each time. */
const maxControlled = 10_000;

/** As upstream: what can be read of a selector narrows the question; the rest is not told. */
function selectorsOf({ fieldSelector, labelSelector }: AuthorizationAttributes): JsonObject {
  const told = (requirements: readonly SelectorRequirement[] | undefined): JsonObject | undefined =>
    requirements === undefined || requirements.length === 0
      ? undefined
      : {
          requirements: requirements.map(({ key, operator, values }) => ({
            key,
            operator,
            ...(values.length > 0 ? { values: [...values] } : {}),
          })),
        };
  const [fields, labels] = [fieldRequirements(fieldSelector), labelRequirements(labelSelector)].map(told);
  return {
    ...(fields === undefined ? {} : { fieldSelector: fields }),
    ...(labels === undefined ? {} : { labelSelector: labels }),
  };
}

function specOf(a: AuthorizationAttributes): JsonObject {
  const { name, uid = '', groups, extra = {} } = a.user;
  const who = {
    user: name,
    groups: [...groups],
    uid,
    extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
  };
  if (!a.isResource) return { nonResourceAttributes: { path: a.path, verb: a.verb }, ...who };
  const { namespace, verb, group, version, resource, subresource } = a;
  return {
    resourceAttributes: {
      namespace,
      verb,
      group,
      version,
      resource,
      subresource,
      name: a.name,
      ...selectorsOf(a),
    },
    ...who,
  };
}

/** v1beta1 calls groups `group`. */
const sent = (spec: JsonObject, version: 'v1' | 'v1beta1'): JsonObject => {
  if (version === 'v1') return spec;
  const { groups, ...rest } = spec;
  return { ...rest, group: groups! };
};

const allowsAndDenies = 'webhook subject access review returned both allow and deny response';

function decisionOf(answer: JsonObject): AuthorizationDecision {
  const { allowed, denied } = answer;
  const reason = str(answer.reason);
  // Both at once is a fault of the service, and nothing that it meant to allow.
  if (bool(denied))
    return bool(allowed)
      ? { decision: 'deny', reason, error: allowsAndDenies }
      : { decision: 'deny', reason };
  return { decision: bool(allowed) ? 'allow' : 'no-opinion', reason };
}

export function createWebhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { reviewer, clock, version, failed } = options;
  const conditions = options.conditions.map(compileCondition);
  const known = new KeptAnswers<AuthorizationDecision>(bounds);
  const failure: AuthorizationDecision = {
    decision: options.failurePolicy === 'Deny' ? 'deny' : 'no-opinion',
    reason: '',
  };
  const remember = (key: string, decision: AuthorizationDecision, a: AuthorizationAttributes): void => {
    const ttl = decision.decision === 'allow' ? options.authorizedMs : options.unauthorizedMs;
    const { namespace, verb, group, version, resource, subresource, name, path } = a;
    const controlled = [namespace, verb, group, version, resource, subresource, name, path].join('').length;
    if (ttl <= 0 || controlled >= maxControlled) return;
    known.put(key, decision, { length: decision.reason.length, untilMs: clock.monotonic() + ttl });
  };
  const isMeant = (spec: JsonObject): boolean => {
    const began = clock.monotonic();
    let how: 'all' | 'excluded' | 'failed' = 'failed';
    try {
      how = allHold(conditions, spec) ? 'all' : 'excluded';
    } finally {
      options.matched?.(how, (clock.monotonic() - began) / 1000);
    }
    return how === 'all';
  };
  const ask = async (a: AuthorizationAttributes): Promise<AuthorizationDecision> => {
    const spec = specOf(a);
    if (conditions.length > 0 && !isMeant(spec)) return { decision: 'no-opinion', reason: '' };
    const key = JSON.stringify(spec);
    const found = known.get(key, clock.monotonic());
    if (found !== undefined) return found;
    const answer = await reviewer.review({
      kind: 'SubjectAccessReview',
      apiVersion: `authorization.k8s.io/${version}`,
      metadata: { creationTimestamp: null },
      spec: sent(spec, version),
      status: { allowed: false },
    });
    const decision = decisionOf(reviewStatus('SubjectAccessReview', answer));
    remember(key, decision, a);
    return decision;
  };
  return {
    async authorize(attributes) {
      try {
        return await ask(attributes);
      } catch (error) {
        failed(error as Error);
        return { ...failure, error: (error as Error).message };
      }
    },
    rulesFor: () => ({
      rules: [],
      incomplete: true,
      errors: ['webhook authorizer does not support user rule resolution'],
    }),
  };
}
