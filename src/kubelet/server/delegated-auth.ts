// Who may use the kubelet's server: the API server is asked who a token is, and whether a user has the right.
import { subjectaccessreviews, tokenreviews } from '../../api/generated/resources.ts';
import type { Clock } from '../../base/clock.ts';
import { KeptAnswers } from '../../base/kept-answers.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import { accessOf, type NodeAccess, type RequestPath } from './request-attributes.ts';
import { textResponse } from './route.ts';

export interface DelegatedAuthDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly log: Logger;
}

interface User {
  readonly username: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Undefined: go on; else the answer that refuses. */
export type Authorize = (request: HttpRequest, path: RequestPath) => Promise<HttpResponse | undefined>;

/** As upstream's kubelet: how long an answer of the API server is believed. */
const keepMs = { token: 120_000, allowed: 300_000, denied: 30_000 } as const;
/** Users have as many groups as whoever vouches for them says. */
const bounds = { most: 1000, room: 4 << 20, longest: 64 << 10 };

/** Answers of the API server by what was asked. */
function remembering<T>(clock: Clock, keepFor: (value: T) => number) {
  const kept = new KeptAnswers<{ readonly value: T }>(bounds);
  return async (key: string, ask: () => Promise<T>): Promise<T> => {
    const hit = kept.get(key, clock.monotonic());
    if (hit !== undefined) return hit.value;
    const value = await ask();
    const untilMs = clock.monotonic() + keepFor(value);
    kept.put(key, { value }, { length: JSON.stringify([value]).length, untilMs });
    return value;
  };
}

/** The TLS layer has checked issuer, purpose and dates of the certificate. */
function certificateUser({ clientCertificate }: HttpRequest): User | undefined {
  const subject = clientCertificate?.subject;
  if (subject === undefined || subject.CN === undefined || subject.CN === '') return undefined;
  return { username: subject.CN, groups: [...subject.O, 'system:authenticated'] };
}

function bearerToken({ headers }: HttpRequest): string | undefined {
  const header = headers['authorization'];
  return typeof header === 'string' ? /^bearer +([^ ]+)$/i.exec(header.trim())?.[1] : undefined;
}

/** Client certificates, then bearer tokens; nobody is anonymous. Rights are asked for with SubjectAccessReview. */
export function delegatedAuth({ client, clock, nodeName, log }: DelegatedAuthDeps): Authorize {
  const tokens = remembering<User | undefined>(clock, () => keepMs.token);
  const rights = remembering<boolean>(clock, (allowed) => (allowed ? keepMs.allowed : keepMs.denied));

  const tokenUser = (token: string): Promise<User | undefined> =>
    tokens(sha256Hex(token), async () => {
      const { status } = await client.create(tokenreviews, { metadata: {}, spec: { token } });
      const user = status?.authenticated === true ? status.user : undefined;
      if (user?.username === undefined || user.username === '') return undefined;
      return { username: user.username, uid: user.uid, groups: user.groups ?? [], extra: user.extra };
    });

  const isAllowed = (user: User, verb: string, subresource: string): Promise<boolean> =>
    rights(JSON.stringify([user, verb, subresource]), async () => {
      const { username, uid, groups, extra } = user;
      const answer = await client.create(subjectaccessreviews, {
        metadata: {},
        spec: {
          user: username,
          groups: [...groups],
          ...(uid === undefined ? {} : { uid }),
          ...(extra === undefined
            ? {}
            : { extra: Object.fromEntries(Object.entries(extra).map(([key, list]) => [key, [...list]])) }),
          resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
        },
      });
      return answer.status?.allowed === true;
    });

  const decide = async (
    user: User,
    { verb, subresources }: NodeAccess,
  ): Promise<HttpResponse | undefined> => {
    const who = `user=${user.username}, verb=${verb}, resource=nodes`;
    try {
      for (const subresource of subresources) if (await isAllowed(user, verb, subresource)) return undefined;
    } catch (error) {
      log.warn({ error, user: user.username }, 'the API server was not asked for a right');
      return textResponse(500, `Authorization error (${who}, subresource(s)=[${subresources.join(' ')}])\n`);
    }
    return textResponse(403, `Forbidden (${who}, subresource(s)=[${subresources.join(' ')}])\n`);
  };

  return async (request, path) => {
    let user = certificateUser(request);
    const token = user === undefined ? bearerToken(request) : undefined;
    if (token !== undefined)
      user = await tokenUser(token).catch((error: unknown) => {
        log.warn({ error }, 'the API server was not asked who a token is');
        return undefined;
      });
    if (user === undefined) return textResponse(401, 'Unauthorized');
    return decide(user, accessOf(request.method, path, request.upgrade !== undefined));
  };
}
