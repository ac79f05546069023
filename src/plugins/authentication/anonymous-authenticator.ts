// Nobody in particular: let in only to say whether the server lives, and its version.
import { type Authenticator, anonymousUser } from '../../apiserver/authentication/authenticator.ts';

const open = /^\/(livez|readyz|healthz)(\/[^?]*)?(\?|$)|^\/version\/?(\?|$)/;

export function createAnonymousAuthenticator(): Authenticator {
  return {
    authenticate: (request) =>
      open.test(request.url) && !request.url.includes('..') ? anonymousUser : undefined,
  };
}
