// Configurations of admission webhooks: where they are, what they are asked about, and how.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { duplicate, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { type Errors, labelSelector, newErrors, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import {
  clientConfigErrors,
  hasReviewVersion,
  reviewVersionErrors,
} from '../../../apimachinery/validation/webhook-clients.ts';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
} from '../../generated/types/admissionregistration-v1.ts';
import { admissionRuleErrors, matchConditionErrors } from './validate-rules.ts';

type Webhook = Decoded<MutatingWebhook>;
type Configuration = Decoded<MutatingWebhookConfiguration>;

const harmless = ['None', 'NoneOnDryRun'];
const sideEffectClasses = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];

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

function qualifiedDomain(field: string, name = ''): Errors {
  if (name === '') return [required(field)];
  const errors = dnsSubdomain(name);
  if (errors.length > 0) return [invalid(field, name, errors.join(','))];
  if (name.split('.').length >= 3) return [];
  return [invalid(field, name, 'should be a domain with at least three segments separated by dots')];
}

function sideEffectErrors(field: string, sideEffects: string | undefined, terms: Terms): Errors {
  const allowed = terms.harmless ? harmless : sideEffectClasses;
  if (sideEffects === undefined) return [required(field, `must specify one of ${allowed.join(', ')}`)];
  return allowed.includes(sideEffects) ? [] : [notSupported(field, sideEffects, allowed)];
}

function webhookErrors(at: string, webhook: Webhook, terms: Terms): Errors {
  const { timeoutSeconds: timeout, failurePolicy, matchPolicy, reinvocationPolicy } = webhook;
  const policy = (field: string, value: string | undefined, allowed: readonly string[]): Errors =>
    value === undefined ? [] : oneOf(`${at}.${field}`, value, allowed);
  return [
    ...qualifiedDomain(`${at}.name`, webhook.name),
    ...(webhook.rules ?? []).flatMap((rule, i) => admissionRuleErrors(`${at}.rules[${i}]`, rule)),
    ...policy('failurePolicy', failurePolicy, ['Fail', 'Ignore']),
    ...policy('matchPolicy', matchPolicy, ['Equivalent', 'Exact']),
    ...sideEffectErrors(`${at}.sideEffects`, webhook.sideEffects, terms),
    ...(timeout !== undefined && (timeout > 30 || timeout < 1)
      ? [invalid(`${at}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds')]
      : []),
    ...(terms.selectors ? selectorErrors(at, webhook) : []),
    ...policy('reinvocationPolicy', reinvocationPolicy, ['IfNeeded', 'Never']),
    ...clientConfigErrors(`${at}.clientConfig`, webhook.clientConfig ?? {}),
    ...(terms.matchConditions
      ? matchConditionErrors(`${at}.matchConditions`, webhook.matchConditions ?? [])
      : []),
  ];
}

const selectorErrors = (at: string, { namespaceSelector, objectSelector }: Webhook): Errors => [
  ...labelSelector(`${at}.namespaceSelector`, namespaceSelector),
  ...labelSelector(`${at}.objectSelector`, objectSelector),
];

function configurationErrors({ webhooks = [] }: Configuration, terms: Terms): Errors {
  const names = new Set<string>();
  return webhooks.flatMap((webhook, i) => {
    const at = `webhooks[${i}]`;
    const { name = '', admissionReviewVersions: versions = [] } = webhook;
    const isTaken = terms.uniqueNames && name !== '' && names.has(name);
    names.add(name);
    return [
      ...webhookErrors(at, webhook, terms),
      ...reviewVersionErrors(
        `${at}.admissionReviewVersions`,
        versions,
        terms.knownReviewVersion,
        'must specify one of v1, v1beta1',
      ),
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
    knownReviewVersion: before.every(({ admissionReviewVersions: versions = [] }) =>
      hasReviewVersion(versions),
    ),
    uniqueNames: new Set(before.map(({ name }) => name)).size === before.length,
    selectors: before.every((webhook) => selectorErrors('', webhook).length === 0),
    matchConditions: !semanticEqual(conditionsOf(configuration), conditionsOf(old)),
  };
  return newErrors(configurationErrors(configuration, terms), () => configurationErrors(old, terms));
}
