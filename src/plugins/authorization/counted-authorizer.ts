// Counts what an authorizer decides; that it has no opinion is no decision.
import type { AuthorizationDecision, Authorizer } from '../../apiserver/authorization/authorizer.ts';
import { type CounterMetric, declareMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';

const decisions: (metrics: MetricsRegistry) => CounterMetric = declareMetrics((metrics: MetricsRegistry) =>
  metrics.counter(
    'apiserver_authorization_decisions_total',
    'Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.',
    ['decision', 'name', 'type'],
  ),
);

export function countedAuthorizer(
  authorizer: Authorizer,
  { type, name }: { readonly type: string; readonly name: string },
  metrics: MetricsRegistry,
): Authorizer {
  const total = decisions(metrics);
  const allowed = total.of({ type, name, decision: 'allowed' });
  const denied = total.of({ type, name, decision: 'denied' });
  const counted = (answer: AuthorizationDecision): AuthorizationDecision => {
    if (answer.decision === 'allow') allowed.inc();
    else if (answer.decision === 'deny') denied.inc();
    return answer;
  };
  return {
    authorize(attributes) {
      const answer = authorizer.authorize(attributes);
      return answer instanceof Promise ? answer.then(counted) : counted(answer);
    },
    ...(authorizer.rulesFor === undefined ? {} : { rulesFor: authorizer.rulesFor }),
  };
}
