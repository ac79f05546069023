// ID tokens as go-oidc verifies them: what they must say, and who must have signed that.
import { goQuoted } from '../../../apimachinery/go-format.ts';
import type { Json } from '../../../apimachinery/json.ts';
import { goValueName } from '../../../apimachinery/schema-errors.ts';
import type { Clock } from '../../../base/clock.ts';
import { type JwtClaims, type ReadJwt, readJwt } from '../../../crypto/jwt.ts';
import type { ProviderKeys } from './provider-keys.ts';

export interface IdTokenRules {
  readonly clock: Pick<Clock, 'now'>;
  /** With which tokens may be signed. */
  readonly algorithms: readonly string[];
  /** One of them must be meant. */
  readonly audiences: readonly string[];
}

/** Clocks of providers go differently: as much as go-oidc allows for `nbf`. */
const notBeforeLeewayMs = 5 * 60_000;
const maxDateMs = 8.64e15;
const isEndless = (value: unknown): boolean =>
  value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;

const unreadable = (why: string): Error => new Error(`oidc: failed to unmarshal claims: ${why}`);

/** Google leaves the scheme out at times. */
export function issuerOf(claims: JwtClaims | undefined): unknown {
  const name = claims?.iss;
  return name === 'accounts.google.com' ? 'https://accounts.google.com' : name;
}

/** Seconds since 1970, also as a text, as Go's json.Number takes them; undefined: nothing is said. */
function secondsOf(claims: JwtClaims, claim: 'exp' | 'nbf' | 'iat'): number | undefined {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  // JSON has no such number, but text such as 1e400 is read as one.
  if (isEndless(value)) throw unreadable('strconv.ParseFloat: value out of range');
  if (value === undefined || value === null) return undefined;
  const isText = typeof value === 'string' && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value);
  const seconds = isText ? Number(value) : value;
  if (typeof seconds !== 'number' || isEndless(seconds))
    throw unreadable(`json: invalid number literal of ${claim}`);
  // In Go seconds beyond an int64 are the least of them.
  return Math.abs(seconds) < 2 ** 63 ? Math.trunc(seconds) : Number.NEGATIVE_INFINITY;
}

/** As Go shows an instant in UTC. */
const instant = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`;

function timeFault(claims: JwtClaims, now: number): string | undefined {
  const [end, start] = [secondsOf(claims, 'exp'), secondsOf(claims, 'nbf')];
  secondsOf(claims, 'iat');
  if (end === undefined) return 'oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)';
  const endMs = Math.max(end * 1000, -maxDateMs);
  if (endMs < now) return `oidc: token is expired (Token Expiry: ${instant(endMs)})`;
  if (start !== undefined && start * 1000 > now + notBeforeLeewayMs)
    return `oidc: current time ${instant(now)} before the nbf (not before) time: ${instant(Math.min(start * 1000, maxDateMs))}`;
  return undefined;
}

function audiencesOf({ aud }: JwtClaims): readonly string[] {
  if (aud === undefined) return [];
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!named.every((one) => one === null || typeof one === 'string'))
    throw unreadable('json: cannot unmarshal aud into Go value of type []string');
  return named.map((one) => (one as string | null) ?? '');
}

function audienceFault(claims: JwtClaims, audiences: readonly string[]): string | undefined {
  const named = audiencesOf(claims);
  if (named.some((audience) => audiences.includes(audience))) return undefined;
  const wanted =
    audiences.length === 1 ? goQuoted(audiences).slice(1, -1) : `in ${goQuoted([...audiences].sort())}`;
  return `oidc: expected audience ${wanted} got ${goQuoted(named)}`;
}

const misfit = (value: unknown, field: string, type: string): Error =>
  unreadable(
    `json: cannot unmarshal ${goValueName(value as Json)} into Go struct field idToken.${field} of type ${type}`,
  );

/** Of an object; null is as good as none. */
function membersOf(value: unknown, field: string, type: string): Map<string, unknown> {
  if (value === undefined || value === null) return new Map();
  if (typeof value !== 'object' || Array.isArray(value)) throw misfit(value, field, type);
  return new Map(Object.entries(value));
}

function textIn(value: unknown, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw misfit(value, field, 'string');
  return value;
}

/** Whoever says where a claim is found must say what is found there. Both are read, whether they are of use or not. */
function sourceFault(claims: JwtClaims): string | undefined {
  const [names, sources] = (
    [
      ['_claim_names', 'string'],
      ['_claim_sources', 'oidc.claimSource'],
    ] as const
  ).map(([field, type]) => membersOf(claims[field], field, `map[string]${type}`));
  for (const [name, source] of sources!) {
    const field = `_claim_sources.${name}`;
    const found = membersOf(source, field, 'oidc.claimSource');
    for (const one of ['endpoint', 'access_token']) textIn(found.get(one), `${field}.${one}`);
  }
  const wanted = [...names!].map(([name, source]) => textIn(source, `_claim_names.${name}`));
  for (const source of wanted) {
    if (source === '') return 'oidc: failed to obtain source from claim name';
    if (!sources!.has(source)) return 'oidc: source does not exist';
  }
  return undefined;
}

function checkTexts(claims: JwtClaims): void {
  for (const claim of ['sub', 'nonce', 'at_hash'])
    textIn(Object.hasOwn(claims, claim) ? claims[claim] : undefined, claim);
}

/** The claims of one that all is well with. Throws why it is not believed. */
export async function verifiedClaims(
  token: string,
  keys: Pick<ProviderKeys, 'haveSigned'>,
  rules: IdTokenRules,
): Promise<JwtClaims> {
  const read: ReadJwt | { readonly refused: string } = readJwt(token);
  if ('refused' in read) throw new Error(`oidc: malformed jwt: ${read.refused}`);
  const { header, claims } = read;
  checkTexts(claims);
  const fault =
    sourceFault(claims) ?? audienceFault(claims, rules.audiences) ?? timeFault(claims, rules.clock.now());
  if (fault !== undefined) throw new Error(fault);
  // Before the provider is asked for keys: no key of it could make such a signature good.
  if (!rules.algorithms.includes(String(header.alg)))
    throw new Error(
      `oidc: id token signed with unsupported algorithm, expected ${goQuoted(rules.algorithms)} got ${JSON.stringify(String(header.alg))}`,
    );
  if (!(await keys.haveSigned(read)))
    throw new Error('failed to verify signature: failed to verify id token signature');
  return claims;
}
