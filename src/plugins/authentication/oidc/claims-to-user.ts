// The user that claims name, by the mappings of a configuration.
import type { JwtAuthenticator } from '../../../api/config/authentication-configuration.ts';
import type { Json } from '../../../apimachinery/json.ts';
import { goValueName } from '../../../apimachinery/schema-errors.ts';
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

/** As Go reads JSON into a text: null leaves it empty. */
function textOf(value: unknown): string {
  if (value === null) return '';
  if (typeof value !== 'string')
    throw new Error(`json: cannot unmarshal ${goValueName(value as Json)} into Go value of type string`);
  return value;
}

function stringClaim(claims: JwtClaims, claim: string): string {
  const value = own(claims, claim);
  if (value === undefined) throw new Error('claim not present');
  return textOf(value);
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
    if (verified !== undefined && verified !== null && typeof verified !== 'boolean')
      throw new Error(
        `oidc: parse 'email_verified' claim: json: cannot unmarshal ${goValueName(verified as Json)} into Go value of type bool`,
      );
    if (verified === false || verified === null) throw new Error('oidc: email not verified');
  }
  return `${prefix}${name}`;
}

/** Some providers write a single group as a text. */
function groupTexts(value: unknown): string[] {
  if (value === null) return [];
  if (!Array.isArray(value)) return [textOf(value)];
  // An array of anything else is no list of groups, and no single one.
  return value.every((group) => group === null || typeof group === 'string')
    ? value.map(textOf)
    : [textOf(value)];
}

function groupsOf(config: JwtAuthenticator, compiled: CompiledMappings, claims: JwtClaims): string[] {
  const { claim = '', prefix = '' } = config.claimMappings?.groups ?? {};
  const value = claim === '' ? undefined : own(claims, claim);
  if (value !== undefined) {
    return within(`parse groups claim ${JSON.stringify(claim)}`, () => groupTexts(value)).map(
      (group) => `${prefix}${group}`,
    );
  }
  const { groups } = compiled;
  return groups === undefined
    ? []
    : within('error evaluating group claim expression', () => stringsOf(groups(claims)));
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

const credentialId = 'authentication.kubernetes.io/credential-id';

function extraOf(compiled: CompiledMappings, claims: JwtClaims): Record<string, string[]> {
  const jti = own(claims, 'jti');
  const extra: [string, string[]][] =
    typeof jti === 'string' && jti !== '' ? [[credentialId, [`JTI=${jti}`]]] : [];
  for (const { key, expression, evaluate } of compiled.extra) {
    const value = evaluate(claims);
    const values = within(`error evaluating extra claim expression: ${expression}`, () => stringsOf(value));
    if (values.length > 0) extra.push([key, values]);
  }
  return Object.fromEntries(extra);
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
    const extra = extraOf(compiled, claims);
    const user: UserInfo = {
      name,
      groups,
      ...(uid === '' ? {} : { uid }),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
    holdToClaims(config, claims);
    within('error evaluating claim validation expression', () => holdTo(compiled.claimRules, claims));
    within('error evaluating user info validation rule', () => holdTo(compiled.userRules, userValue(user)));
    return user;
  };
}
