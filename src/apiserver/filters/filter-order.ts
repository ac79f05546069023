// The order of the filters, outermost first. It is the order of upstream's DefaultBuildHandlerChain.
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { authenticationMetrics } from '../authentication/authentication-metrics.ts';
import type { Authenticator } from '../authentication/authenticator.ts';
import { authorizationMetrics } from '../authorization/authorization-metrics.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { type AuditDependencies, auditFilter, failedAuthenticationAudit } from './audit.ts';
import { auditIdFilter } from './audit-id.ts';
import { authenticationFilter } from './authentication.ts';
import { authorizationFilter } from './authorization.ts';
import type { Filter, Next } from './filter.ts';
import { impersonationFilter } from './impersonation.ts';
import { panicRecoveryFilter } from './panic-recovery.ts';
import { type FairnessDependencies, priorityAndFairnessFilter } from './priority-and-fairness.ts';
import { requestInfoFilter } from './request-info.ts';
import { requestTimeoutFilter } from './request-timeout.ts';

export interface FilterDependencies {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly allowAnonymous: boolean;
  readonly fairness: FairnessDependencies;
  readonly audit: AuditDependencies | undefined;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly random: Random;
  readonly log: Logger;
}

export const filterOrder = (deps: FilterDependencies): readonly (readonly [string, Filter])[] => [
  ['audit-id', auditIdFilter(deps.random)],
  ['panic-recovery', panicRecoveryFilter(deps.log)],
  ['request-info', requestInfoFilter],
  [
    'authentication',
    authenticationFilter({
      ...deps,
      metrics: authenticationMetrics(deps.metrics),
      refused: deps.audit && failedAuthenticationAudit(deps.audit),
    }),
  ],
  ...(deps.audit === undefined ? [] : [['audit', auditFilter(deps.audit)] as const]),
  // Upstream has it before authentication: here the audit log tells of it as of all else.
  ['request-timeout', requestTimeoutFilter(deps.clock)],
  ['impersonation', impersonationFilter(deps.authorizer, deps.clock)],
  ['priority-and-fairness', priorityAndFairnessFilter(deps.fairness)],
  ['authorization', authorizationFilter(deps.authorizer, deps.clock, authorizationMetrics(deps.metrics))],
];

export const chain = (filters: readonly (readonly [string, Filter])[], last: Next): Next =>
  filters.reduceRight((next, [, filter]) => filter(next), last);
