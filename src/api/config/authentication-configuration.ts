// AuthenticationConfiguration: who may vouch for users by JSON Web Tokens, and what anonymous requests may see.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import {
  duplicate,
  type FieldError,
  fieldErrorText,
  invalid,
  required,
  tooMany,
} from '../../apimachinery/field-error.ts';
import { readConfig, type Shape } from './config-shape.ts';

export interface PrefixedClaimOrExpression {
  readonly claim?: string;
  readonly prefix?: string;
  readonly expression?: string;
}

export interface ClaimValidationRule {
  readonly claim?: string;
  readonly requiredValue?: string;
  readonly expression?: string;
  readonly message?: string;
}

export interface UserValidationRule {
  readonly expression?: string;
  readonly message?: string;
}

export interface ClaimMappings {
  readonly username?: PrefixedClaimOrExpression;
  readonly groups?: PrefixedClaimOrExpression;
  readonly uid?: { readonly claim?: string; readonly expression?: string };
  readonly extra?: readonly { readonly key?: string; readonly valueExpression?: string }[];
}

export interface JwtIssuer {
  readonly url?: string;
  readonly discoveryURL?: string;
  /** PEM. Default: whom the machine trusts. */
  readonly certificateAuthority?: string;
  readonly audiences?: readonly string[];
  readonly audienceMatchPolicy?: string;
  readonly egressSelectorType?: string;
}

export interface JwtAuthenticator {
  readonly issuer?: JwtIssuer;
  readonly claimValidationRules?: readonly ClaimValidationRule[];
  readonly claimMappings?: ClaimMappings;
  readonly userValidationRules?: readonly UserValidationRule[];
}

export interface AnonymousConfiguration {
  readonly enabled?: boolean;
  readonly conditions?: readonly { readonly path?: string }[];
}

export interface AuthenticationConfiguration {
  readonly jwt?: readonly JwtAuthenticator[];
  readonly anonymous?: AnonymousConfiguration;
}

const prefixed: Shape = { claim: 'string', prefix: 'string', expression: 'string' };
const shape: Readonly<Record<string, Shape>> = {
  jwt: [
    {
      issuer: {
        url: 'string',
        discoveryURL: 'string',
        certificateAuthority: 'string',
        audiences: ['string'],
        audienceMatchPolicy: 'string',
        egressSelectorType: 'string',
      },
      claimValidationRules: [
        { claim: 'string', requiredValue: 'string', expression: 'string', message: 'string' },
      ],
      claimMappings: {
        username: prefixed,
        groups: prefixed,
        uid: { claim: 'string', expression: 'string' },
        extra: [{ key: 'string', valueExpression: 'string' }],
      },
      userValidationRules: [{ expression: 'string', message: 'string' }],
    },
  ],
  anonymous: { enabled: 'boolean', conditions: [{ path: 'string' }] },
};

/** What is wrong with an expression over `claims` or `user`; undefined: nothing. */
export type ExpressionFault = (
  expression: string,
  variable: 'claims' | 'user',
  result: 'any' | 'bool',
) => string | undefined;

export interface ConfigurationRules {
  readonly faultOf: ExpressionFault;
  /** Those of service accounts: nobody else may speak for them. */
  readonly disallowedIssuers: readonly string[];
  /** What is wrong with a bundle of certificates. */
  readonly bundleFault: (pem: string) => string | undefined;
}

/** Throws what is wrong with it. */
export function readAuthenticationConfiguration(
  value: unknown,
  rules: ConfigurationRules,
): AuthenticationConfiguration {
  const read: JsonObject = readConfig(value, 'AuthenticationConfiguration', ['v1', 'v1beta1'], shape);
  return checkedAuthentication(read as AuthenticationConfiguration, rules);
}

/** The same, wherever it was said. Throws what is wrong with it. */
export function checkedAuthentication(
  configuration: AuthenticationConfiguration,
  rules: ConfigurationRules,
): AuthenticationConfiguration {
  const texts = [...faults(configuration, rules)].map(fieldErrorText);
  if (texts.length > 0) throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  return configuration;
}

const maxIssuers = 64;

function* faults(
  { jwt = [], anonymous }: AuthenticationConfiguration,
  rules: ConfigurationRules,
): Generator<FieldError> {
  if (jwt.length > maxIssuers) {
    yield tooMany('jwt', jwt.length, maxIssuers);
    return;
  }
  const seen = { url: new Set<string>(), discoveryURL: new Set<string>() };
  for (const [i, authenticator] of jwt.entries()) {
    const at = `jwt[${i}]`;
    const { issuer = {}, claimMappings = {} } = authenticator;
    yield* issuerFaults(issuer, `${at}.issuer`, rules);
    yield* claimRuleFaults(authenticator.claimValidationRules ?? [], `${at}.claimValidationRules`, rules);
    yield* mappingFaults(claimMappings, `${at}.claimMappings`, rules);
    yield* emailFaults(authenticator, `${at}.claimMappings`, rules);
    yield* userRuleFaults(authenticator.userValidationRules ?? [], `${at}.userValidationRules`, rules);
    for (const which of ['url', 'discoveryURL'] as const) {
      const value = issuer[which] ?? '';
      if (seen[which].has(value) && (which === 'url' || value !== ''))
        yield duplicate(`${at}.issuer.${which}`, value);
      if (value !== '') seen[which].add(value);
    }
  }
  if (anonymous !== undefined && anonymous.enabled !== true && (anonymous.conditions ?? []).length > 0)
    yield invalid(
      'anonymous.conditions',
      anonymous.conditions,
      'enabled should be set to true when conditions are defined',
    );
}

function* urlFaults(text: string, at: string, disallowed: readonly string[]): Generator<FieldError> {
  if (disallowed.includes(text))
    yield invalid(
      at,
      text,
      `URL must not overlap with disallowed issuers: [${[...disallowed].sort().join(' ')}]`,
    );
  if (!URL.canParse(text)) {
    yield invalid(at, text, /^https:/i.test(text) ? 'invalid URL' : 'URL scheme must be https');
    return;
  }
  const { protocol, username, password, search, hash } = new URL(text);
  if (protocol !== 'https:') yield invalid(at, text, 'URL scheme must be https');
  if (username !== '' || password !== '')
    yield invalid(at, text, 'URL must not contain a username or password');
  if (search !== '') yield invalid(at, text, 'URL must not contain a query');
  if (hash !== '') yield invalid(at, text, 'URL must not contain a fragment');
}

const withoutSlashes = (text: string): string => {
  let end = text.length;
  while (text[end - 1] === '/') end--;
  return text.slice(0, end);
};

function* issuerFaults(issuer: JwtIssuer, at: string, rules: ConfigurationRules): Generator<FieldError> {
  const { url = '', discoveryURL = '', certificateAuthority = '' } = issuer;
  if (url === '') yield required(`${at}.url`);
  else yield* urlFaults(url, `${at}.url`, rules.disallowedIssuers);
  if (discoveryURL !== '') {
    if (url !== '' && withoutSlashes(url) === withoutSlashes(discoveryURL))
      yield invalid(`${at}.discoveryURL`, discoveryURL, 'discoveryURL must be different from URL');
    yield* urlFaults(discoveryURL, `${at}.discoveryURL`, []);
  }
  yield* audienceFaults(issuer, at);
  yield* egressFaults(issuer, `${at}.egressSelectorType`);
  const fault = certificateAuthority === '' ? undefined : rules.bundleFault(certificateAuthority);
  if (fault !== undefined) yield invalid(`${at}.certificateAuthority`, '<omitted>', fault);
}

/** As upstream refuses one that its egress configuration does not have: here there is none. */
function* egressFaults({ egressSelectorType: type = '' }: JwtIssuer, at: string): Generator<FieldError> {
  if (type === '') return;
  if (type !== 'controlplane' && type !== 'cluster')
    yield invalid(at, type, 'egress selector must be either controlplane or cluster');
  else yield invalid(at, type, `oidc: egress lookup for ${JSON.stringify(type)} is not configured`);
}

function* audienceFaults(issuer: JwtIssuer, at: string): Generator<FieldError> {
  const { audiences = [], audienceMatchPolicy: policy = '' } = issuer;
  if (audiences.length === 0) {
    yield required(`${at}.audiences`, `at least one ${at}.audiences is required`);
    return;
  }
  for (const [i, audience] of audiences.entries()) {
    if (audience === '') yield required(`${at}.audiences[${i}]`);
    if (audiences.indexOf(audience) < i) yield duplicate(`${at}.audiences[${i}]`, audience);
  }
  if (audiences.length > 1 && policy !== 'MatchAny')
    yield invalid(
      `${at}.audienceMatchPolicy`,
      policy,
      'audienceMatchPolicy must be MatchAny for multiple audiences',
    );
  if (audiences.length === 1 && policy !== '' && policy !== 'MatchAny')
    yield invalid(
      `${at}.audienceMatchPolicy`,
      policy,
      'audienceMatchPolicy must be empty or MatchAny for single audience',
    );
}

function* expressionFaults(
  expression: string,
  [variable, result]: readonly ['claims' | 'user', 'any' | 'bool'],
  at: string,
  { faultOf }: ConfigurationRules,
): Generator<FieldError> {
  const fault = faultOf(expression, variable, result);
  if (fault !== undefined) yield invalid(at, expression, fault);
}

function* claimRuleFaults(
  list: readonly ClaimValidationRule[],
  at: string,
  rules: ConfigurationRules,
): Generator<FieldError> {
  const claims = new Set<string>();
  const expressions = new Set<string>();
  for (const [i, { claim = '', expression = '', message = '', requiredValue = '' }] of list.entries()) {
    const here = `${at}[${i}]`;
    if (claim !== '' && expression !== '')
      yield invalid(here, claim, "claim and expression can't both be set");
    else if (claim === '' && expression === '') yield required(here, 'claim or expression is required');
    else if (claim !== '') {
      if (message !== '') yield invalid(`${here}.message`, message, 'may not be specified when claim is set');
      if (claims.has(claim)) yield duplicate(`${here}.claim`, claim);
      claims.add(claim);
    } else {
      if (requiredValue !== '')
        yield invalid(`${here}.requiredValue`, requiredValue, 'may not be specified when expression is set');
      if (expressions.has(expression)) yield duplicate(`${here}.expression`, expression);
      else yield* expressionFaults(expression, ['claims', 'bool'], `${here}.expression`, rules);
      expressions.add(expression);
    }
  }
}

function* prefixedFaults(
  mapping: PrefixedClaimOrExpression,
  at: string,
  isNeeded: boolean,
  rules: ConfigurationRules,
): Generator<FieldError> {
  const { claim = '', expression = '', prefix } = mapping;
  if (claim !== '' && expression !== '') yield invalid(at, '', "claim and expression can't both be set");
  else if (expression !== '') {
    if (prefix !== undefined)
      yield invalid(`${at}.prefix`, prefix, 'may not be specified when expression is set');
    yield* expressionFaults(expression, ['claims', 'any'], `${at}.expression`, rules);
  } else if (claim === '') {
    if (isNeeded) yield required(at, 'claim or expression is required');
  } else if (prefix === undefined)
    yield required(
      `${at}.prefix`,
      'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    );
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function* extraKeyFaults(key: string, at: string): Generator<FieldError> {
  const slash = key.indexOf('/');
  const [domain, path] = slash < 0 ? ['', ''] : [key.slice(0, slash), key.slice(slash + 1)];
  if (key === '') yield required(at);
  else if (domain === '' || path === '')
    yield invalid(at, key, 'must be a domain-prefixed path (such as "acme.io/foo")');
  else if (!domain.split('.').every((part) => label.test(part)))
    yield invalid(
      at,
      domain,
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
  if (key !== key.toLowerCase()) yield invalid(at, key, 'must be lowercase');
  if (['kubernetes.io', 'k8s.io'].some((own) => domain === own || domain.endsWith(`.${own}`)))
    yield invalid(at, key, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use');
}

function* mappingFaults(
  { username = {}, groups = {}, uid = {}, extra = [] }: ClaimMappings,
  at: string,
  rules: ConfigurationRules,
): Generator<FieldError> {
  yield* prefixedFaults(username, `${at}.username`, true, rules);
  yield* prefixedFaults(groups, `${at}.groups`, false, rules);
  const { claim = '', expression = '' } = uid;
  if (claim !== '' && expression !== '')
    yield invalid(`${at}.uid`, '', "claim and expression can't both be set");
  else if (expression !== '')
    yield* expressionFaults(expression, ['claims', 'any'], `${at}.uid.expression`, rules);
  const keys = new Set<string>();
  for (const [i, { key = '', valueExpression = '' }] of extra.entries()) {
    const here = `${at}.extra[${i}]`;
    yield* extraKeyFaults(key, `${here}.key`);
    if (keys.has(key)) yield duplicate(`${here}.key`, key);
    else if (valueExpression === '') yield required(`${here}.valueExpression`);
    else yield* expressionFaults(valueExpression, ['claims', 'any'], `${here}.valueExpression`, rules);
    keys.add(key);
  }
}

const email = /\bclaims\.\??email\b/;
const emailVerified = /\bclaims\.\??email_verified\b/;
const withoutBlanks = (expression = ''): string => expression.replace(/\s/g, '');

/** An address that nobody has verified is what its owner says: whoever uses it as a name looks at that too. */
function* emailFaults(
  authenticator: JwtAuthenticator,
  at: string,
  { faultOf }: ConfigurationRules,
): Generator<FieldError> {
  const { claimMappings: { username, extra = [] } = {}, claimValidationRules = [] } = authenticator;
  if (!email.test(withoutBlanks(username?.expression))) return;
  const looking = [
    username?.expression,
    ...extra.map((one) => one.valueExpression),
    // as upstream, a rule that says nothing of true or false looks at nothing
    ...claimValidationRules
      .map((rule) => rule.expression ?? '')
      .filter((expression) => faultOf(expression, 'claims', 'bool') === undefined),
  ];
  if (!looking.some((expression) => emailVerified.test(withoutBlanks(expression))))
    yield invalid(
      `${at}.username.expression`,
      username?.expression,
      'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
    );
}

function* userRuleFaults(
  list: readonly UserValidationRule[],
  at: string,
  rules: ConfigurationRules,
): Generator<FieldError> {
  const expressions = new Set<string>();
  for (const [i, { expression = '' }] of list.entries()) {
    const here = `${at}[${i}].expression`;
    if (expression === '') yield required(here);
    else if (expressions.has(expression)) yield duplicate(here, expression);
    else yield* expressionFaults(expression, ['user', 'bool'], here, rules);
    expressions.add(expression);
  }
}
