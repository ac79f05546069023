// May they do it? Everything that is not allowed is refused with upstream's sentence.
import type { Clock } from '../../base/clock.ts';
import { attributesOf, forbiddenBy, selectorsOf } from '../authorization/attributes.ts';
import type { AuthorizationObserved } from '../authorization/authorization-metrics.ts';
import type { AuthorizationDecision, Authorizer } from '../authorization/authorizer.ts';
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { forbiddenResponse, internalErrorText } from '../response.ts';
import type { Filter } from './filter.ts';

/** Upgraded, these run commands or reach whatever listens, a kubelet's own commands too. */
const connecting: readonly string[] = ['exec', 'attach', 'portforward', 'proxy'];

export const authorizationFilter =
  (authorizer: Authorizer, clock: Pick<Clock, 'monotonic'>, observed: AuthorizationObserved): Filter =>
  (next) =>
  async (context) => {
    const began = clock.monotonic();
    const attributes = attributesOf(context.info, context.user, selectorsOf(context));
    const asked = authorizer.authorize(attributes);
    const answer = asked instanceof Promise ? await asked : asked;
    const { decision, reason, error } = answer;
    const tookMs = clock.monotonic() - began;
    observed(answer, tookMs / 1000);
    context.audit?.took('authorization', tookMs);
    if (decision !== 'allow' && error !== undefined) return failed(context, error);
    if (context.audit !== undefined) annotate(context, decision, reason);
    if (decision !== 'allow') return forbiddenResponse(context, forbiddenBy(attributes, reason));
    if (
      context.request.upgrade &&
      attributes.isResource &&
      attributes.verb !== 'create' &&
      connecting.includes(attributes.subresource)
    ) {
      // A WebSocket begins with GET: whoever may only read must not run commands (AuthorizePodWebsocketUpgradeCreatePermission).
      const asCreate = { ...attributes, verb: 'create' };
      const second = await authorizer.authorize(asCreate);
      if (second.decision !== 'allow') {
        if (second.error !== undefined) return failed(context, second.error);
        if (context.audit !== undefined) annotate(context, second.decision, second.reason);
        return forbiddenResponse(context, forbiddenBy(asCreate, second.reason));
      }
    }
    return next(context);
  };

/** Nobody knows whether they may. */
function failed({ request, auditAnnotations, audit }: RequestContext, error: string): ApiResponse {
  if (audit !== undefined) auditAnnotations.set('authorization.k8s.io/reason', 'internal error');
  return internalErrorText(request.url, error);
}

function annotate(
  { auditAnnotations }: RequestContext,
  decision: AuthorizationDecision['decision'],
  reason: string,
): void {
  auditAnnotations.set('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
  auditAnnotations.set('authorization.k8s.io/reason', reason);
}
