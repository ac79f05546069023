// How long a client would wait at most, which the query may say: what is no duration is refused, and a shorter one than the server's ends the request.
import { badRequest } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { readGoDuration } from '../../base/go-duration.ts';
import { type ApiResponse, isPullBody } from '../http.ts';
import { tooLateFor } from '../request-context.ts';
import { isLongRunning } from '../request-info.ts';
import type { Filter } from './filter.ts';

export const requestTimeoutFilter =
  (clock: Pick<Clock, 'timer'>): Filter =>
  (next) =>
  (context) => {
    if (!context.request.url.includes('timeout=') || isLongRunning(context.info)) return next(context);
    const ms = readGoDuration(context.query.get('timeout') || '0');
    if (typeof ms === 'string') throw badRequest(`invalid timeout specified in the request URL - ${ms}`);
    if (ms <= 0 || ms >= context.timeLimitMs) return next(context);
    const late = new AbortController();
    context.endsWithin(ms, late.signal);
    const answer = next(context);
    context.outlivedBy(answer);
    return endedBy(clock, ms, late, answer);
  };

/** What comes too late is done without: whoever works on it sees the signal. */
function endedBy(
  clock: Pick<Clock, 'timer'>,
  ms: number,
  late: AbortController,
  answer: Promise<ApiResponse>,
): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const cancel = clock.timer(ms, () => {
      late.abort();
      reject(tooLateFor());
    });
    answer.then(
      (response) => {
        cancel();
        if (late.signal.aborted && response.body !== undefined && isPullBody(response.body))
          response.body.close();
        resolve(response);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
