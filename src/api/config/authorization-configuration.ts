// AuthorizationConfiguration: who is asked whether a request may be, and in which order.
import {
  duplicate,
  type FieldError,
  fieldErrorText,
  invalid,
  notSupported,
  required,
  tooMany,
} from '../../apimachinery/field-error.ts';
import { parseGoDuration } from '../../base/go-duration.ts';
import { readConfig, type Shape } from './config-shape.ts';

export interface WebhookConfiguration {
  readonly timeout?: string;
  readonly authorizedTTL?: string;
  readonly unauthorizedTTL?: string;
  readonly cacheAuthorizedRequests?: boolean;
  readonly cacheUnauthorizedRequests?: boolean;
  readonly subjectAccessReviewVersion?: string;
  readonly matchConditionSubjectAccessReviewVersion?: string;
  readonly failurePolicy?: string;
  readonly connectionInfo?: { readonly type?: string; readonly kubeConfigFile?: string };
  readonly matchConditions?: readonly { readonly expression?: string }[];
}

export interface ConfiguredAuthorizer {
  readonly type?: string;
  readonly name?: string;
  readonly webhook?: WebhookConfiguration;
}

export interface AuthorizationConfiguration {
  readonly authorizers?: readonly ConfiguredAuthorizer[];
}

const shape: Readonly<Record<string, Shape>> = {
  authorizers: [
    {
      type: 'string',
      name: 'string',
      webhook: {
        timeout: 'string',
        authorizedTTL: 'string',
        unauthorizedTTL: 'string',
        cacheAuthorizedRequests: 'boolean',
        cacheUnauthorizedRequests: 'boolean',
        subjectAccessReviewVersion: 'string',
        matchConditionSubjectAccessReviewVersion: 'string',
        failurePolicy: 'string',
        connectionInfo: { type: 'string', kubeConfigFile: 'string' },
        matchConditions: [{ expression: 'string' }],
      },
    },
  ],
};

export interface AuthorizationRules {
  /** What is wrong with an expression over `request`; undefined: nothing. */
  readonly faultOf: (expression: string) => string | undefined;
  /** What is wrong with a path that ought to be a kubeconfig's; undefined: nothing. */
  readonly fileFault: (path: string) => string | undefined;
  /** Those without which it is not taken, as of a file that is read again. */
  readonly required?: readonly string[];
}

export const authorizerTypes: readonly string[] = [
  'ABAC',
  'AlwaysAllow',
  'AlwaysDeny',
  'Node',
  'RBAC',
  'Webhook',
];

/** As flags call the one of a type. */
export const authorizerName = (type: string): string => type.toLowerCase();

/** Throws what is wrong with it. */
export function readAuthorizationConfiguration(
  value: unknown,
  rules: AuthorizationRules,
): AuthorizationConfiguration {
  const configuration = readConfig(value, 'AuthorizationConfiguration', ['v1', 'v1beta1'], shape);
  const errors = [...faults(configuration as AuthorizationConfiguration, rules)];
  throwAll(errors.map(fieldErrorText));
  throwAll([...serverFaults(configuration as AuthorizationConfiguration, rules)]);
  return configuration as AuthorizationConfiguration;
}

function throwAll(texts: readonly string[]): void {
  if (texts.length > 0) throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
}

/** What only this server's own file must keep to, and other servers' need not. */
function* serverFaults(
  { authorizers = [] }: AuthorizationConfiguration,
  { required: needed = [] }: AuthorizationRules,
): Generator<string> {
  const own = authorizers.filter(({ type }) => type !== 'Webhook');
  for (const { type = '', name } of own)
    if (name !== authorizerName(type))
      yield `expected name ${authorizerName(type)} for authorizer ${type} instead of ${name}`;
  const missing = needed.filter((type) => !own.some((one) => one.type === type));
  if (missing.length > 0) yield `missing required types: [${missing.toSorted().join(' ')}]`;
  for (const [i, { webhook }] of authorizers.entries())
    if (webhook?.connectionInfo?.type === inCluster)
      yield `authorizers[${i}].webhook.connectionInfo.type: Forbidden: ${inCluster} asks kube-apiserver itself: this mode is not allowed for it`;
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const isSubdomain = (name: string): boolean =>
  name.length <= 253 && name.split('.').every((part) => label.test(part));

function* faults(
  { authorizers = [] }: AuthorizationConfiguration,
  rules: AuthorizationRules,
): Generator<FieldError> {
  if (authorizers.length === 0)
    yield required('authorizers', 'at least one authorization mode must be defined');
  const types = new Set<string>();
  const names = new Set<string>();
  for (const [i, { type = '', name = '', webhook }] of authorizers.entries()) {
    const at = `authorizers[${i}]`;
    if (type === '') yield required(`${at}.type`);
    else if (!authorizerTypes.includes(type)) yield notSupported(`${at}.type`, type, authorizerTypes);
    else if (types.has(type) && type !== 'Webhook') yield duplicate(`${at}.type`, type);
    else {
      types.add(type);
      if (name === '') yield required(`${at}.name`);
      else if (names.has(name)) yield duplicate(`${at}.name`, name);
      else if (!isSubdomain(name))
        yield invalid(
          `${at}.name`,
          name,
          "authorizer name is invalid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        );
      names.add(name);
      if (type !== 'Webhook') {
        if (webhook !== undefined)
          yield invalid(`${at}.webhook`, 'non-null', 'may only be specified when type=Webhook');
      } else if (webhook === undefined) yield required(`${at}.webhook`, 'required when type=Webhook');
      else yield* webhookFaults(webhook, at, rules);
    }
  }
}

const maxTimeoutMs = 30_000;
const inCluster = 'InClusterConfig';

function* durationFaults(text: string, at: string, maxMs = Number.POSITIVE_INFINITY): Generator<FieldError> {
  const ms = text === '' ? 0 : parseGoDuration(text.startsWith('-') ? text.slice(1) : text);
  if (ms === 0) yield required(at);
  else if (ms === undefined || text.startsWith('-') || ms > maxMs)
    yield invalid(at, text, maxMs === maxTimeoutMs ? 'must be > 0s and <= 30s' : 'must be > 0s');
}

/** `shown`: what upstream shows of it instead. */
function* oneOf(
  value: string,
  at: string,
  known: readonly string[],
  shown: unknown = value,
): Generator<FieldError> {
  if (value === '') yield required(at);
  else if (!known.includes(value)) yield notSupported(at, shown, known, true);
}

function* webhookFaults(
  webhook: WebhookConfiguration,
  at: string,
  rules: AuthorizationRules,
): Generator<FieldError> {
  const { matchConditions = [], matchConditionSubjectAccessReviewVersion: version = '' } = webhook;
  yield* durationFaults(webhook.timeout ?? '', `${at}.timeout`, maxTimeoutMs);
  // Upstream's defaults: five minutes for what was allowed, half of one for what was not.
  yield* durationFaults(webhook.authorizedTTL ?? '5m', `${at}.authorizedTTL`);
  yield* durationFaults(webhook.unauthorizedTTL ?? '30s', `${at}.unauthorizedTTL`);
  yield* oneOf(webhook.subjectAccessReviewVersion ?? '', `${at}.subjectAccessReviewVersion`, [
    'v1',
    'v1beta1',
  ]);
  if (version === '' && matchConditions.length > 0)
    yield required(
      `${at}.matchConditionSubjectAccessReviewVersion`,
      'required if match conditions are specified',
    );
  else if (version !== '') yield* oneOf(version, `${at}.matchConditionSubjectAccessReviewVersion`, ['v1']);
  yield* oneOf(webhook.failurePolicy ?? '', `${at}.failurePolicy`, ['NoOpinion', 'Deny']);
  yield* connectionFaults(webhook, `${at}.connectionInfo`, rules);
  yield* conditionFaults(matchConditions, `${at}.matchConditions`, rules);
}

function* connectionFaults(
  { connectionInfo: { type = '', kubeConfigFile } = {} }: WebhookConfiguration,
  at: string,
  rules: AuthorizationRules,
): Generator<FieldError> {
  const shown = { Type: type, KubeConfigFile: kubeConfigFile ?? null };
  yield* oneOf(type, `${at}.type`, [inCluster, 'KubeConfigFile'], shown);
  if (type === inCluster && kubeConfigFile !== undefined)
    yield invalid(`${at}.kubeConfigFile`, kubeConfigFile, 'can only be set when type=KubeConfigFile');
  if (type !== 'KubeConfigFile') return;
  if (kubeConfigFile === undefined || kubeConfigFile === '') yield required(`${at}.kubeConfigFile`);
  else {
    const fault = rules.fileFault(kubeConfigFile);
    if (fault !== undefined) yield invalid(`${at}.kubeConfigFile`, kubeConfigFile, fault);
  }
}

function* conditionFaults(
  conditions: readonly { readonly expression?: string }[],
  at: string,
  rules: AuthorizationRules,
): Generator<FieldError> {
  if (conditions.length > 64) {
    yield tooMany(at, conditions.length, 64);
    return;
  }
  const seen = new Set<string>();
  for (const [i, { expression = '' }] of conditions.entries()) {
    const here = `${at}[${i}].expression`;
    if (expression.trim() === '') yield required(here);
    else if (seen.has(expression)) yield duplicate(here, expression);
    else {
      const fault = rules.faultOf(expression);
      if (fault !== undefined) yield invalid(here, expression, fault);
    }
    seen.add(expression);
  }
}
