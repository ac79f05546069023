// The user that claims name, by the mappings of a configuration.
import type { JwtAuthenticator } from '../../../api/config/authentication-configuration.ts';
import type { UserInfo } from '../../../apiserver/authentication/user-info.ts';
import type { JwtClaims } from '../../../crypto/jwt.ts';
import {
  type CompiledMappings,
  type CompileExpression,
  compileMappings,
  holdTo,
  stringOf,
  stringsOf,
  userValue,
} from './claim-expressions.ts';

/** Throws why they name nobody. */
export type ClaimsToUser = (claims: JwtClaims) => UserInfo;

/** `what` tells of the mapping that failed. */
function within<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new Error(`oidc: ${what}: ${(error as Error).message}`);
  }
}

const own = (claims: JwtClaims, claim: string): unknown =>
  Object.hasOwn(claims, claim) ? claims[claim] : undefined;

const jsonType = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

function stringClaim(claims: JwtClaims, claim: string): string {
  const value = own(claims, claim);
  if (value === undefined) throw new Error('claim not present');
  if (typeof value !== 'string')
    throw new Error(`json: cannot unmarshal ${jsonType(value)} into Go value of type string`);
  return value;
}

function usernameOf(config: JwtAuthenticator, compiled: CompiledMappings, claims: JwtClaims): string {
  const { username } = compiled;
  if (username !== undefined) {
    const name = within('error evaluating username claim expression', () =>
      stringOf(username, claims, 'username'),
    );
    if (name === '') throw new Error('oidc: empty username via CEL expression is not allowed');
    return name;
  }
  const { claim = '', prefix = '' } = config.claimMappings?.username ?? {};
  const name = within(`parse username claims ${JSON.stringify(claim)}`, () => stringClaim(claims, claim));
  if (claim === 'email') {
    const verified = own(claims, 'email_verified');
    // Whoever may write an address of somebody else into an account must not become them.
    if (verified !== undefined && typeof verified !== 'boolean')
      throw new Error(
        `oidc: parse 'email_verified' claim: json: cannot unmarshal ${jsonType(verified)} into Go value of type bool`,
      );
    if (verified === false) throw new Error('oidc: email not verified');
  }
  return `${prefix}${name}`;
}

function groupsOf(config: JwtAuthenticator, compiled: CompiledMappings, claims: JwtClaims): string[] {
  const { claim = '', prefix = '' } = config.claimMappings?.groups ?? {};
  const value = claim === '' ? undefined : own(claims, claim);
  if (value !== undefined) {
    // Some providers write a single group as a text.
    const groups: readonly unknown[] = Array.isArray(value) ? value : [value ?? undefined];
    if (!groups.every((group) => typeof group === 'string'))
      throw new Error(
        `oidc: parse groups claim ${JSON.stringify(claim)}: json: cannot unmarshal ${jsonType(value)} into Go value of type string`,
      );
    return groups.map((group) => `${prefix}${group}`);
  }
  const { groups } = compiled;
  return groups === undefined
    ? []
    : within('error evaluating group claim expression', () => stringsOf(groups, claims));
}

function uidOf(config: JwtAuthenticator, compiled: CompiledMappings, claims: JwtClaims): string {
  const claim = config.claimMappings?.uid?.claim ?? '';
  if (claim !== '')
    return within(`parse uid claim ${JSON.stringify(claim)}`, () => stringClaim(claims, claim));
  const { uid } = compiled;
  return uid === undefined
    ? ''
    : within('error evaluating uid claim expression', () => stringOf(uid, claims, 'uid'));
}

function holdToClaims(config: JwtAuthenticator, claims: JwtClaims): void {
  for (const { claim = '', requiredValue = '' } of config.claimValidationRules ?? []) {
    if (claim === '') continue;
    if (own(claims, claim) === undefined)
      throw new Error(`oidc: required claim ${claim} not present in ID token`);
    const value = within(`parse claim ${claim}`, () => stringClaim(claims, claim));
    if (value !== requiredValue)
      throw new Error(
        `oidc: required claim ${claim} value does not match. Got = ${value}, want = ${requiredValue}`,
      );
  }
}

export function createClaimsToUser(config: JwtAuthenticator, compile: CompileExpression): ClaimsToUser {
  const compiled = compileMappings(config, compile);
  return (claims) => {
    const name = usernameOf(config, compiled, claims);
    const groups = groupsOf(config, compiled, claims);
    const uid = uidOf(config, compiled, claims);
    const extra = compiled.extra.flatMap(({ key, evaluate }): [string, string[]][] => {
      const values = within('error evaluating extra claim expression', () => stringsOf(evaluate, claims));
      return values.length === 0 ? [] : [[key, values]];
    });
    const user: UserInfo = {
      name,
      groups,
      ...(uid === '' ? {} : { uid }),
      ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    };
    holdToClaims(config, claims);
    within('error evaluating claim validation expression', () => holdTo(compiled.claimRules, claims));
    within('error evaluating user info validation rule', () => holdTo(compiled.userRules, userValue(user)));
    return user;
  };
}
