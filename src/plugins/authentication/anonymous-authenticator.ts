// Nobody in particular: let in where that is allowed. By default only to ask whether the server lives, and its version.
import { type Authenticator, anonymousUser } from '../../apiserver/authentication/authenticator.ts';

const open = /^\/(livez|readyz|healthz)(\/[^?]*)?(\?|$)|^\/version\/?(\?|$)/;

/** Whether a request to this URL may be nobody's. */
export type AllowsAnonymous = (url: string) => boolean;

const openPaths: AllowsAnonymous = (url) => open.test(url) && !url.includes('..');

/** Exactly these paths, as upstream compares them. */
export function onlyPaths(paths: readonly string[]): AllowsAnonymous {
  const known = new Set(paths);
  return (url) => {
    const query = url.indexOf('?');
    try {
      return known.has(decodeURIComponent(query < 0 ? url : url.slice(0, query)));
    } catch {
      return false;
    }
  };
}

export function createAnonymousAuthenticator(allows: AllowsAnonymous = openPaths): Authenticator {
  return { authenticate: (request) => (allows(request.url) ? anonymousUser : undefined) };
}
