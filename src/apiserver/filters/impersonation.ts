// Acts as somebody else, when the caller may: Impersonate-User, -Group, -Uid and -Extra-*.

import { badRequest } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { attributesOf, selectorsOf } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { createImpersonation, type WantedUser } from '../authorization/impersonation-modes.ts';
import { type SentHeader, sentHeaders } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { asStatusError, errorResponse, forbiddenResponse } from '../response.ts';
import type { Filter } from './filter.ts';

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';

/** Hardly any request does, so that this is all it costs. */
function namesSomebodyElse(headers: RequestContext['request']['headers']): boolean {
  for (const header in headers) if (header.startsWith(prefix)) return true;
  return false;
}

function wantedOf(headers: readonly SentHeader[]): WantedUser {
  const valuesOf = (wanted: string): string[] =>
    headers.filter(([sent]) => sent === wanted).map(([, value]) => value);
  return {
    name: valuesOf('impersonate-user')[0] ?? '',
    groups: valuesOf('impersonate-group'),
    uid: valuesOf('impersonate-uid')[0] ?? '',
    extra: extraOf(headers),
  };
}

export function impersonationFilter(authorizer: Authorizer, clock: Pick<Clock, 'monotonic'>): Filter {
  const impersonate = createImpersonation(authorizer);
  return (next) => async (context) => {
    if (!namesSomebodyElse(context.request.headers)) return next(context);
    const wanted = wantedOf(sentHeaders(context.request));
    if (wanted.name === '') {
      if (wanted.groups.length === 0 && wanted.uid === '' && wanted.extra.size === 0) return next(context);
      return errorResponse(
        context,
        badRequest(`requested ${goText(wanted)} without impersonating a user name`),
      );
    }
    const attributes = attributesOf(context.info, context.user, selectorsOf(context));
    const began = clock.monotonic();
    try {
      const { user, constraint } = await impersonate(wanted, attributes);
      context.audit?.took('impersonation', clock.monotonic() - began);
      context.user = user;
      context.impersonationConstraint = constraint;
    } catch (error) {
      return forbiddenResponse(context, asStatusError(error));
    }
    return next(context);
  };
}

const goStrings = (list: readonly string[]): string =>
  `[]string{${list.map((one) => JSON.stringify(one)).join(', ')}}`;
const orNil = (type: string, isEmpty: boolean, text: string): string => (isEmpty ? `${type}(nil)` : text);

/** As Go's %#v of the user. */
function goText({ name, uid, groups, extra }: WantedUser): string {
  const keys = [...extra].sort(([a], [b]) => (a < b ? -1 : 1));
  const extras = keys.map(([key, values]) => `${JSON.stringify(key)}:${goStrings(values)}`);
  return `&user.DefaultInfo{Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Groups:${orNil('[]string', groups.length === 0, goStrings(groups))}, Extra:${orNil('map[string][]string', extra.size === 0, `map[string][]string{${extras.join(', ')}}`)}}`;
}

function extraOf(headers: readonly SentHeader[]): Map<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const [header, value] of headers) {
    if (!header.startsWith(extraPrefix)) continue;
    try {
      const key = decodeURIComponent(header.slice(extraPrefix.length));
      extra.set(key, [...(extra.get(key) ?? []), value]);
    } catch {
      throw badRequest(`invalid header ${header}`);
    }
  }
  return extra;
}
