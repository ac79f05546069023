// Configurations of admission webhooks: where they are, what they are asked about, and how.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { duplicate, invalid, notSupported, required, tooMany } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import {
  type Errors,
  each,
  labelSelector,
  named,
  newErrors,
  oneOf,
} from '../../../apimachinery/validation/checks.ts';
import { dns1035Label, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import { serviceErrors, urlErrors } from '../../../apimachinery/validation/webhook-clients.ts';
import type {
  MatchCondition,
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
} from '../../generated/types/admissionregistration-v1.ts';

type Webhook = Decoded<MutatingWebhook>;
type Configuration = Decoded<MutatingWebhookConfiguration>;

const reviewVersions = ['v1', 'v1beta1'];
const harmless = ['None', 'NoneOnDryRun'];
const sideEffectClasses = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];
const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const maxMatchConditions = 64;

/** What a configuration that is there already did not keep to, its update need not keep to either. */
interface Terms {
  readonly harmless: boolean;
  readonly knownReviewVersion: boolean;
  readonly uniqueNames: boolean;
  readonly selectors: boolean;
  readonly matchConditions: boolean;
}

const ofNew: Terms = {
  harmless: true,
  knownReviewVersion: true,
  uniqueNames: true,
  selectors: true,
  matchConditions: true,
};

const isKnownVersion = (version: string): boolean => reviewVersions.includes(version);

function qualifiedDomain(field: string, name = ''): Errors {
  if (name === '') return [required(field)];
  const errors = dnsSubdomain(name);
  if (errors.length > 0) return [invalid(field, name, errors.join(','))];
  if (name.split('.').length >= 3) return [];
  return [invalid(field, name, 'should be a domain with at least three segments separated by dots')];
}

function listErrors(field: string, list: readonly string[], others: string): Errors {
  if (list.length === 0) return [required(field)];
  if (list.length === 1 || !list.includes('*')) return [];
  return [invalid(field, list, `if '*' is present, must not specify other ${others}`)];
}

function resourcesErrors(field: string, resources: readonly string[]): Errors {
  if (resources.length === 0) return [required(field)];
  const errors: Errors = [];
  const allOf = new Set<string>();
  const ofAll = new Set<string>();
  let whole = false;
  resources.forEach((text, i) => {
    const at = `${field}[${i}]`;
    if (text === '') {
      errors.push(required(at));
      return;
    }
    const slash = text.indexOf('/');
    if (slash < 0) {
      whole = text !== '*';
      return;
    }
    const [resource, sub] = [text.slice(0, slash), text.slice(slash + 1)];
    if (allOf.has(resource))
      errors.push(invalid(at, text, `if '${resource}/*' is present, must not specify ${text}`));
    if (ofAll.has(sub)) errors.push(invalid(at, text, `if '*/${sub}' is present, must not specify ${text}`));
    if (sub === '*') allOf.add(resource);
    if (resource === '*') ofAll.add(sub);
  });
  if (resources.length > 1 && resources.includes('*/*'))
    errors.push(invalid(field, resources, "if '*/*' is present, must not specify other resources"));
  if (resources.includes('*') && whole)
    errors.push(
      invalid(field, resources, "if '*' is present, must not specify other resources without subresources"),
    );
  return errors;
}

function ruleErrors(at: string, rule: Decoded<RuleWithOperations>): Errors {
  const { apiVersions = [] } = rule;
  return [
    ...listErrors(`${at}.operations`, rule.operations ?? [], 'operations'),
    ...(rule.operations ?? []).flatMap((one, i) => oneOf(`${at}.operations[${i}]`, one, operations)),
    ...listErrors(`${at}.apiGroups`, rule.apiGroups ?? [], 'API groups'),
    ...listErrors(`${at}.apiVersions`, apiVersions, 'API versions'),
    ...apiVersions.flatMap((version, i) => (version === '' ? [required(`${at}.apiVersions[${i}]`)] : [])),
    ...resourcesErrors(`${at}.resources`, rule.resources ?? []),
    ...(rule.scope === undefined ? [] : oneOf(`${at}.scope`, rule.scope, ['*', 'Cluster', 'Namespaced'])),
  ];
}

function sideEffectErrors(field: string, sideEffects: string | undefined, terms: Terms): Errors {
  const allowed = terms.harmless ? harmless : sideEffectClasses;
  if (sideEffects === undefined) return [required(field, `must specify one of ${allowed.join(', ')}`)];
  return allowed.includes(sideEffects) ? [] : [notSupported(field, sideEffects, allowed)];
}

function matchConditionErrors(at: string, conditions: readonly Decoded<MatchCondition>[]): Errors {
  const errors =
    conditions.length > maxMatchConditions ? [tooMany(at, conditions.length, maxMatchConditions)] : [];
  const names = new Set<string>();
  conditions.forEach(({ expression = '', name = '' }, i) => {
    if (expression.trim() === '') errors.push(required(`${at}[${i}].expression`));
    errors.push(...named(`${at}[${i}].name`, name, qualifiedNameErrors));
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}[${i}].name`, name));
    names.add(name);
  });
  return errors;
}

function clientErrors(at: string, { clientConfig = {} }: Webhook): Errors {
  const { url, service } = clientConfig;
  if ((url === undefined) === (service === undefined))
    return [required(at, 'exactly one of url or service is required')];
  if (url !== undefined) return urlErrors(`${at}.url`, url);
  return serviceErrors(`${at}.service`, service ?? {});
}

function webhookErrors(at: string, webhook: Webhook, terms: Terms): Errors {
  const { timeoutSeconds: timeout, failurePolicy, matchPolicy, reinvocationPolicy } = webhook;
  const policy = (field: string, value: string | undefined, allowed: readonly string[]): Errors =>
    value === undefined ? [] : oneOf(`${at}.${field}`, value, allowed);
  return [
    ...qualifiedDomain(`${at}.name`, webhook.name),
    ...(webhook.rules ?? []).flatMap((rule, i) => ruleErrors(`${at}.rules[${i}]`, rule)),
    ...policy('failurePolicy', failurePolicy, ['Fail', 'Ignore']),
    ...policy('matchPolicy', matchPolicy, ['Equivalent', 'Exact']),
    ...sideEffectErrors(`${at}.sideEffects`, webhook.sideEffects, terms),
    ...(timeout !== undefined && (timeout > 30 || timeout < 1)
      ? [invalid(`${at}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds')]
      : []),
    ...(terms.selectors ? selectorErrors(at, webhook) : []),
    ...policy('reinvocationPolicy', reinvocationPolicy, ['IfNeeded', 'Never']),
    ...clientErrors(`${at}.clientConfig`, webhook),
    ...(terms.matchConditions
      ? matchConditionErrors(`${at}.matchConditions`, webhook.matchConditions ?? [])
      : []),
  ];
}

const selectorErrors = (at: string, { namespaceSelector, objectSelector }: Webhook): Errors => [
  ...labelSelector(`${at}.namespaceSelector`, namespaceSelector),
  ...labelSelector(`${at}.objectSelector`, objectSelector),
];

function reviewVersionErrors(at: string, versions: readonly string[], terms: Terms): Errors {
  if (versions.length === 0) return [required(at, `must specify one of ${reviewVersions.join(', ')}`)];
  const errors = versions.flatMap((version, i) =>
    versions.indexOf(version) < i
      ? [invalid(`${at}[${i}]`, version, 'duplicate version')]
      : each(`${at}[${i}]`, version, dns1035Label),
  );
  if (terms.knownReviewVersion && !versions.some(isKnownVersion))
    errors.push(invalid(at, versions, `must include at least one of ${reviewVersions.join(', ')}`));
  return errors;
}

function configurationErrors({ webhooks = [] }: Configuration, terms: Terms): Errors {
  const names = new Set<string>();
  return webhooks.flatMap((webhook, i) => {
    const at = `webhooks[${i}]`;
    const { name = '', admissionReviewVersions: versions = [] } = webhook;
    const isTaken = terms.uniqueNames && name !== '' && names.has(name);
    names.add(name);
    return [
      ...webhookErrors(at, webhook, terms),
      ...reviewVersionErrors(`${at}.admissionReviewVersions`, versions, terms),
      ...(isTaken ? [duplicate(`${at}.name`, name)] : []),
    ];
  });
}

export const validateWebhooks = (configuration: Configuration): Errors =>
  configurationErrors(configuration, ofNew);

export function validateWebhooksUpdate(configuration: Configuration, old: Configuration): Errors {
  const before = old.webhooks ?? [];
  const conditionsOf = ({ webhooks = [] }: Configuration): unknown[] =>
    webhooks.map(({ matchConditions = [] }) => matchConditions);
  const terms: Terms = {
    harmless: before.every(({ sideEffects = '' }) => harmless.includes(sideEffects)),
    knownReviewVersion: before.every(
      ({ admissionReviewVersions: versions = [] }) => versions.length === 0 || versions.some(isKnownVersion),
    ),
    uniqueNames: new Set(before.map(({ name }) => name)).size === before.length,
    selectors: before.every((webhook) => selectorErrors('', webhook).length === 0),
    matchConditions: !semanticEqual(conditionsOf(configuration), conditionsOf(old)),
  };
  return newErrors(configurationErrors(configuration, terms), () => configurationErrors(old, terms));
}
