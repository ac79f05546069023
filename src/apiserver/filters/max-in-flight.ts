// Bounds how many requests are served at once; those that last (watch, exec, log …) do not count.
import { tooManyRequests } from '../../apimachinery/errors.ts';
import type { RequestInfo } from '../request-info.ts';
import { errorResponse } from '../response.ts';
import type { Filter } from './filter.ts';

export interface InFlightLimits {
  /** get, list and the like. As upstream: 400. */
  readonly readOnly: number;
  /** As upstream: 200. */
  readonly mutating: number;
}
export const defaultInFlight: InFlightLimits = { readOnly: 400, mutating: 200 };

const readVerbs: readonly string[] = ['get', 'list', 'watch'];
const lastingSubresources: readonly string[] = ['proxy', 'exec', 'attach', 'portforward', 'log'];

/** Upstream's BasicLongRunningRequestCheck. */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.isResource && (info.verb === 'watch' || lastingSubresources.includes(info.subresource));

export function maxInFlightFilter(
  limits: InFlightLimits,
  observe: (kind: string, count: number) => void,
): Filter {
  const count = { readOnly: 0, mutating: 0 };
  return (next) => async (context) => {
    if (isLongRunning(context.info)) return next(context);
    const kind = readVerbs.includes(context.info.verb) ? 'readOnly' : 'mutating';
    // The server's own components and administrators must get through when it is crowded.
    if (count[kind] >= limits[kind] && !context.user.groups.includes('system:masters')) {
      return errorResponse(tooManyRequests('Too many requests, please try again later.', 1));
    }
    count[kind]++;
    observe(kind, count[kind]);
    try {
      return await next(context);
    } finally {
      count[kind]--;
      observe(kind, count[kind]);
    }
  };
}
