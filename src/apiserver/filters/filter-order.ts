// The order of the filters, outermost first. It is the order of upstream's DefaultBuildHandlerChain.
import type { Random } from '../../base/random.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { auditIdFilter } from './audit-id.ts';
import { authenticationFilter } from './authentication.ts';
import { authorizationFilter } from './authorization.ts';
import type { Filter, Next } from './filter.ts';
import { impersonationFilter } from './impersonation.ts';
import { type InFlightLimits, maxInFlightFilter } from './max-in-flight.ts';
import { panicRecoveryFilter } from './panic-recovery.ts';
import { requestInfoFilter } from './request-info.ts';

export interface FilterDependencies {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly allowAnonymous: boolean;
  readonly inFlight: InFlightLimits;
  readonly random: Random;
  readonly log: Logger;
  readonly observeInFlight: (kind: string, count: number) => void;
}

export const filterOrder = (deps: FilterDependencies): readonly (readonly [string, Filter])[] => [
  ['audit-id', auditIdFilter(deps.random)],
  ['panic-recovery', panicRecoveryFilter(deps.log)],
  ['request-info', requestInfoFilter],
  ['authentication', authenticationFilter(deps.authenticator, deps.allowAnonymous)],
  ['max-in-flight', maxInFlightFilter(deps.inFlight, deps.observeInFlight)],
  ['impersonation', impersonationFilter(deps.authorizer)],
  ['authorization', authorizationFilter(deps.authorizer)],
];

export const chain = (filters: readonly (readonly [string, Filter])[], last: Next): Next =>
  filters.reduceRight((next, [, filter]) => filter(next), last);
