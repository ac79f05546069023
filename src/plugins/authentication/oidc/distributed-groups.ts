// Groups that a token does not hold itself but says where to find: another token, there, with that claim (OpenID Connect Core, 5.6.2).
import type { Clock } from '../../../base/clock.ts';
import { KeptAnswers } from '../../../base/kept-answers.ts';
import { sha256Hex } from '../../../crypto/digests.ts';
import { type JwtClaims, unverifiedClaims } from '../../../crypto/jwt.ts';
import { type IdTokenRules, issuerOf, verifiedClaims } from './id-token.ts';
import { type GetJson, ProviderKeys } from './provider-keys.ts';

/** One GET of a text, with a bearer token if one is given. Throws why there is none. */
export type GetText = (url: string, ca: string | undefined, bearer: string) => Promise<string>;

export interface GroupSources {
  /** Of groups. */
  readonly claim: string;
  readonly ca: string | undefined;
  readonly rules: IdTokenRules;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Of the issuer itself, who may have signed these tokens, too. */
  readonly own: { readonly issuer: string; readonly keys: ProviderKeys };
  readonly getText: GetText;
  readonly keysOf: (issuer: string) => ProviderKeys;
}

/** Claims with those of elsewhere put in. Throws why they can't be had. */
export type ExpandClaims = (claims: JwtClaims) => Promise<JwtClaims>;

interface Endpoint {
  readonly endpoint?: string | null;
  readonly access_token?: string | null;
}

/** Where the claim is; undefined: the token says nothing of it. That it can be read so has been looked at. */
function endpointOf(claims: JwtClaims, claim: string): Endpoint | undefined {
  const names = (claims._claim_names ?? {}) as Readonly<Record<string, string>>;
  if (Object.hasOwn(claims, claim) || !Object.hasOwn(names, claim)) return undefined;
  const sources = claims._claim_sources as Readonly<Record<string, Endpoint | null>>;
  const found = sources[names[claim]!] ?? {};
  // An aggregated claim, maybe.
  return found.endpoint ? found : undefined;
}

async function fetched(
  { endpoint: said, access_token: bearer }: Endpoint,
  sources: GroupSources,
): Promise<unknown> {
  const endpoint = said ?? '';
  const { claim, ca, rules, own, getText, keysOf } = sources;
  const token = await getText(endpoint, ca, bearer ?? '').catch((error: unknown) => {
    throw new Error(`while getting distributed claim ${JSON.stringify(claim)}: ${(error as Error).message}`);
  });
  const issuer = issuerOf(unverifiedClaims(token));
  if (typeof issuer !== 'string')
    throw new Error(
      `getting untrusted issuer from endpoint ${endpoint} failed for claim ${JSON.stringify(claim)}: malformed token`,
    );
  const keys = issuer === own.issuer ? own.keys : keysOf(issuer);
  const claims = await verifiedClaims(token, keys, rules).catch((error: unknown) => {
    throw new Error(`verify distributed claim token: ${(error as Error).message}`);
  });
  if (!Object.hasOwn(claims, claim))
    throw new Error(
      `jwt returned by distributed claim endpoint ${JSON.stringify(endpoint)} did not contain claim: ${claim}`,
    );
  return claims[claim];
}

/** As long as upstream remembers whom a token names: each request of a client brings it again. */
const keptMs = 10_000;
const bounds = { most: 4096, room: 16 << 20, longest: 256 << 10 };

/** Where the claim is fetched from once for all who ask, and then remembered for a while. */
function remembering(sources: GroupSources): (endpoint: Endpoint) => Promise<unknown> {
  const known = new KeptAnswers<{ readonly claim: unknown }>(bounds);
  const asking = new Map<string, Promise<unknown>>();
  const ask = async (key: string, endpoint: Endpoint): Promise<unknown> => {
    const claim = await fetched(endpoint, sources);
    const { length } = JSON.stringify(claim);
    known.put(key, { claim }, { length, untilMs: sources.clock.monotonic() + keptMs });
    return claim;
  };
  return async (endpoint) => {
    // What lies in memory says nothing of the tokens.
    const key = sha256Hex(JSON.stringify([endpoint.endpoint, endpoint.access_token]));
    const kept = known.get(key, sources.clock.monotonic());
    if (kept !== undefined) return kept.claim;
    let answer = asking.get(key);
    if (answer === undefined) {
      answer = ask(key, endpoint).finally(() => asking.delete(key));
      asking.set(key, answer);
    }
    return answer;
  };
}

export function createExpandClaims(sources: GroupSources): ExpandClaims {
  const claimAt = remembering(sources);
  return async (claims) => {
    try {
      const endpoint = endpointOf(claims, sources.claim);
      if (endpoint === undefined) return claims;
      return { ...claims, [sources.claim]: await claimAt(endpoint) };
    } catch (error) {
      throw new Error(`oidc: could not expand distributed claims: ${(error as Error).message}`);
    }
  };
}

/** Whom distributed tokens may name as their issuers at a time. */
const maxIssuers = 16;

/** Keys of issuers that only distributed tokens name; the one that was asked for the longest ago makes room. */
export function otherIssuers(getJson: GetJson, clock: ConstructorParameters<typeof ProviderKeys>[2]) {
  const known = new Map<string, ProviderKeys>();
  return (issuer: string, ca: string | undefined): ProviderKeys => {
    const keys =
      known.get(issuer) ?? new ProviderKeys({ issuer, discoveryUrl: undefined, ca }, getJson, clock);
    known.delete(issuer);
    known.set(issuer, keys);
    if (known.size > maxIssuers) known.delete(known.keys().next().value!);
    return keys;
  };
}
