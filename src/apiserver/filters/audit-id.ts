// Gives every request an Audit-ID and says it in the answer, beside the warnings that were gathered.
import type { Random } from '../../base/random.ts';
import type { ApiResponse } from '../http.ts';
import { cutWarningLength, maxWarningLength, type RequestContext } from '../request-context.ts';
import type { Filter } from './filter.ts';

export const auditIdFilter =
  (random: Random): Filter =>
  (next) =>
  async (context) => {
    const given = context.header('audit-id');
    context.auditId = /^[\w.:/-]{1,64}$/.test(given) ? given : random.uuid();
    const response = await next(context);
    return withContextHeaders(context, response);
  };

function withContextHeaders(context: RequestContext, response: ApiResponse): ApiResponse {
  const headers = response.headers as Record<string, string | readonly string[]>;
  if (Object.isFrozen(headers))
    return { ...response, headers: { ...headers, 'audit-id': context.auditId, ...warningHeader(context) } };
  headers['audit-id'] = context.auditId;
  if (context.warnings.length > 0) Object.assign(headers, warningHeader(context));
  return response;
}

function warningHeader(context: RequestContext): Record<string, readonly string[]> {
  if (context.warnings.length === 0) return {};
  const all = context.warnings.reduce((sum, text) => sum + text.length, 0);
  const longest = all > maxWarningLength ? cutWarningLength : maxWarningLength;
  const values: string[] = [];
  let size = 0;
  for (const warning of context.warnings) {
    if (size >= maxWarningLength) break;
    const text = warning.length > longest ? warning.slice(0, longest) : warning;
    size += text.length;
    values.push(`299 - "${quoted(text)}"`);
  }
  return { warning: values };
}

/** A quoted-string of HTTP; what headers can't hold is left out. */
const quoted = (text: string): string =>
  text
    .replace(/[\\"]/g, '\\$&')
    .replace(/[\u0000-\u001f\u007f]/g, '')
    .replace(/[^\u0020-\u00ff]/g, '?');
