// Turns every failure into an answer: a Status for what the API reports, 500 for what nobody foresaw.
import { StatusError } from '../../apimachinery/errors.ts';
import type { Logger } from '../../component-base/logger.ts';
import { BodyTooLargeError } from '../http.ts';
import { PathError, UnreadPathError } from '../request-info.ts';
import { asStatusError, errorResponse, internalErrorText } from '../response.ts';
import type { Filter } from './filter.ts';

export const panicRecoveryFilter =
  (log: Logger): Filter =>
  (next) =>
  async (context) => {
    try {
      return await next(context);
    } catch (error) {
      if (error instanceof UnreadPathError)
        return internalErrorText(
          context.request.url,
          `failed to create RequestInfo: ${error.message}, ${context.request.url}`,
        );
      if (error instanceof PathError)
        return errorResponse(context, new StatusError(400, 'BadRequest', error.message));
      if (!(error instanceof StatusError || error instanceof BodyTooLargeError))
        log.error({ error, method: context.request.method, url: context.request.url }, 'a request failed');
      return errorResponse(context, asStatusError(error));
    }
  };
