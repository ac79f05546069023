// May they do it? Everything that is not allowed is refused with upstream's sentence.
import { attributesOf, forbiddenBy } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { errorResponse } from '../response.ts';
import type { Filter } from './filter.ts';

export const authorizationFilter =
  (authorizer: Authorizer): Filter =>
  (next) =>
  async (context) => {
    const attributes = attributesOf(
      context.info,
      context.user,
      context.request.url.includes('fieldSelector=') ? context.query.get('fieldSelector') : null,
    );
    const answer = authorizer.authorize(attributes);
    const { decision, reason } = answer instanceof Promise ? await answer : answer;
    if (decision === 'allow') return next(context);
    return errorResponse(forbiddenBy(attributes, reason));
  };
