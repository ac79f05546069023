// Bound service account tokens: signature, issuer and audience, then whether what they are bound to still exists.

import { nodes, pods, secrets, serviceaccounts } from '../../api/generated/resources.ts';
import { isObject } from '../../apimachinery/json-access.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { TokenAuthenticator, TokenVerdict } from '../../apiserver/authentication/token-authenticator.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Clock } from '../../base/clock.ts';
import { type JwtClaims, unverifiedClaims, unverifiedKeyId, verifyJwt } from '../../crypto/jwt.ts';
import type { TokenKeys } from './tokens/token-keys.ts';

export interface ServiceAccountTokenDeps {
  readonly live: LiveObjects;
  readonly clock: Clock;
  /** The first signs new tokens; those of the others are good while they last. */
  readonly issuers: readonly string[];
  readonly keys: TokenKeys;
  /** Those of tokens that lie in Secrets; their issuer is no other's. */
  readonly legacy?: { readonly issuer: string; readonly tokens: TokenAuthenticator } | undefined;
}

/** Verified signatures are remembered, since checking one costs more than all the rest of a request. */
const maxRemembered = 4096;
/** As upstream: how long a deleted pod's token still works, so that the pod can end in peace. */
const deletionLeewayMs = 60_000;

interface Bound {
  readonly name: string;
  readonly uid: string;
}

interface Identity {
  readonly namespace: string;
  readonly serviceaccount: Bound;
  readonly pod?: Bound;
  readonly secret?: Bound;
  readonly node?: Bound;
  readonly audiences: readonly string[];
  readonly notBeforeMs: number;
  readonly expiresAtMs: number;
  readonly user: UserInfo;
}

function boundOf(value: unknown): Bound | undefined {
  if (!isObject(value)) return undefined;
  const { name, uid } = value;
  return typeof name === 'string' && typeof uid === 'string' ? { name, uid } : undefined;
}

function identityOf(claims: JwtClaims): Identity | string {
  const own = claims['kubernetes.io'];
  if (!isObject(own) || typeof own.namespace !== 'string') return 'service account namespace is missing';
  const serviceaccount = boundOf(own.serviceaccount);
  if (serviceaccount === undefined) return 'service account is missing';
  if (claims.sub !== `system:serviceaccount:${own.namespace}:${serviceaccount.name}`) {
    return 'the subject is not the service account';
  }
  const audience = claims.aud;
  const audiences = typeof audience === 'string' ? [audience] : Array.isArray(audience) ? audience : [];
  const bound: { pod?: Bound; secret?: Bound; node?: Bound } = {};
  for (const kind of ['pod', 'secret', 'node'] as const) {
    if (own[kind] === undefined) continue;
    const object = boundOf(own[kind]);
    if (object === undefined) return `the bound ${kind} has no name or uid`;
    bound[kind] = object;
  }
  const { namespace } = own;
  return {
    namespace,
    serviceaccount,
    ...bound,
    audiences: audiences.filter((a): a is string => typeof a === 'string'),
    notBeforeMs: Number(claims.nbf ?? 0) * 1000,
    expiresAtMs: Number(claims.exp) * 1000,
    user: {
      name: claims.sub,
      uid: serviceaccount.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      extra: extraOf(claims.jti, bound.node, bound.pod),
    },
  };
}

/** What else a token says of its holder, with upstream's keys. */
function extraOf(id: unknown, node: Bound | undefined, pod: Bound | undefined): Record<string, string[]> {
  const extra: Record<string, string[]> = {};
  const say = (key: string, value: string | undefined): void => {
    if (value !== undefined && value !== '') extra[`authentication.kubernetes.io/${key}`] = [value];
  };
  say('credential-id', typeof id === 'string' && id !== '' ? `JTI=${id}` : undefined);
  say('node-name', node?.name);
  say('node-uid', node?.uid);
  say('pod-name', pod?.name);
  say('pod-uid', pod?.uid);
  return extra;
}

interface Meta {
  readonly metadata?:
    | { readonly uid?: string | undefined; readonly deletionTimestamp?: string | undefined }
    | undefined;
}

/** Why a token that was good is so no more: what it is bound to is gone. */
function livenessOf({ live, clock }: ServiceAccountTokenDeps): (identity: Identity) => string | undefined {
  const isGone = (resource: ResourceRef<Meta>, bound: Bound, namespace?: string): boolean => {
    const object = live.get(resource, bound.name, namespace);
    if (object?.metadata?.uid !== bound.uid) return true;
    const deletion = object.metadata.deletionTimestamp;
    return deletion !== undefined && Date.parse(deletion) + deletionLeewayMs < clock.now();
  };

  return (identity) => {
    const { namespace } = identity;
    if (isGone(serviceaccounts, identity.serviceaccount, namespace)) {
      return 'service account token has been invalidated';
    }
    if (identity.secret !== undefined && isGone(secrets, identity.secret, namespace)) {
      return 'service account token has been invalidated';
    }
    if (identity.pod !== undefined && isGone(pods, identity.pod, namespace)) {
      return 'service account token has been invalidated';
    }
    // As upstream: the node of a pod's token is information only; a token bound to the node itself needs it.
    if (identity.node !== undefined && identity.pod === undefined && isGone(nodes, identity.node)) {
      return 'service account token has been invalidated';
    }
    return undefined;
  };
}

export function createServiceAccountTokenAuthenticator(deps: ServiceAccountTokenDeps): TokenAuthenticator {
  const { clock } = deps;
  const remembered = new Map<string, Identity>();
  let believed = deps.keys.now();

  /** What a key said that is none any more is forgotten. */
  const keysNow = (): typeof believed => {
    const keys = deps.keys.now();
    if (keys !== believed) remembered.clear();
    believed = keys;
    return keys;
  };
  const names = (token: string): boolean => {
    const kid = unverifiedKeyId(token);
    return keysNow().some((key) => key.kid === kid);
  };

  const verified = (token: string): Identity | string => {
    const known = remembered.get(token);
    // The clock may have been set back since.
    if (known !== undefined && known.notBeforeMs <= clock.now()) {
      return known.expiresAtMs > clock.now() ? known : 'service account token has expired';
    }
    const result = verifyJwt(token, keysNow(), clock.now());
    if ('refused' in result) return result.refused;
    const identity = identityOf(result.claims);
    if (typeof identity === 'string') return identity;
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(token, identity);
    return identity;
  };

  const liveness = livenessOf(deps);
  const checked = (token: string, audiences: readonly string[]): TokenVerdict => {
    const identity = verified(token);
    if (typeof identity === 'string') return { refused: identity };
    const shared = identity.audiences.filter((audience) => audiences.includes(audience));
    if (shared.length === 0) {
      return {
        refused: `token audiences ${JSON.stringify(identity.audiences)} is invalid for the target audiences ${JSON.stringify(audiences)}`,
      };
    }
    const gone = liveness(identity);
    return gone === undefined ? { user: identity.user, audiences: shared } : { refused: gone };
  };

  return {
    authenticateToken(token, audiences) {
      keysNow();
      if (!remembered.has(token)) {
        const claims = unverifiedClaims(token);
        // One that has an end is none of a Secret, whatever its issuer is called.
        if (claims?.iss === deps.legacy?.issuer && claims?.exp === undefined)
          return claims && deps.legacy?.tokens.authenticateToken(token, audiences);
        if (!deps.issuers.includes(claims?.iss as string)) return undefined;
      }
      if (deps.keys.lookAgain === undefined || remembered.has(token) || names(token))
        return checked(token, audiences);
      return deps.keys.lookAgain().then(() => checked(token, audiences));
    },
  };
}
