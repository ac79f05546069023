// How long a client would wait at most, which the query may say: what is no duration is refused, whatever is asked for.
import { badRequest } from '../../apimachinery/errors.ts';
import { goDurationFault } from '../../base/go-duration.ts';
import { isLongRunning } from '../request-info.ts';
import type { Filter } from './filter.ts';

export const requestTimeoutFilter: Filter = (next) => (context) => {
  if (context.request.url.includes('timeout=') && !isLongRunning(context.info)) {
    const asked = context.query.get('timeout') ?? '';
    const fault = asked === '' ? undefined : goDurationFault(asked);
    if (fault !== undefined) throw badRequest(`invalid timeout specified in the request URL - ${fault}`);
  }
  return next(context);
};
