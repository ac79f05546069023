// What controllers asked for and may not: a test in which one does fails, however the controller itself takes it.

import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { UserInfo } from '../../src/apiserver/authentication/authenticator.ts';
import type { Client } from '../../src/client/client.ts';
import type { Logger } from '../../src/component-base/logger.ts';

export interface RefusedControllers {
  /** Those of RBAC and of the controllers' own declarations. */
  readonly refusals: readonly string[];
  clientFor(user: UserInfo): Client;
  readonly log: Logger;
}

export function refusedControllers(clientFor: (user: UserInfo) => Client, log: Logger): RefusedControllers {
  const refusals: string[] = [];
  const note = (error: unknown): void => {
    // A namespace that ends refuses as well, and a quota: those say nothing of the user.
    if (
      isStatusError(error, 'Forbidden') &&
      /User "system:serviceaccount:|user not permitted/.test(error.message)
    )
      refusals.push(error.message);
  };
  const watched = (client: Client): Client =>
    new Proxy(client, {
      get(target, name: keyof Client) {
        if (name === 'watch') return target.watch;
        return async (...args: unknown[]) => {
          try {
            return await (target[name] as (...args: unknown[]) => Promise<unknown>)(...args);
          } catch (error) {
            note(error);
            throw error;
          }
        };
      },
    });
  const listening = (inner: Logger): Logger => ({
    debug: (fields, message) => inner.debug(fields, message),
    info: (fields, message) => inner.info(fields, message),
    warn: (fields, message) => inner.warn(fields, message),
    error(fields, message) {
      const { error } = fields as { readonly error?: unknown };
      if (error instanceof Error && error.name === 'UndeclaredAccessError') refusals.push(error.message);
      inner.error(fields, message);
    },
    child: (fields) => listening(inner.child(fields)),
  });
  return { refusals, clientFor: (user) => watched(clientFor(user)), log: listening(log) };
}
