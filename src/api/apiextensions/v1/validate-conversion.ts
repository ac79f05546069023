// spec.conversion: how objects of one version become those of another.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  clientConfigErrors,
  hasReviewVersion,
  reviewVersionErrors,
} from '../../../apimachinery/validation/webhook-clients.ts';
import type {
  CustomResourceConversion,
  CustomResourceDefinitionSpec,
  WebhookConversion,
} from '../../generated/types/apiextensions-v1.ts';

const at = 'spec.conversion';
const strategies = ['None', 'Webhook'];

export function hasKnownReviewVersion(conversion: Decoded<CustomResourceConversion> | undefined): boolean {
  return hasReviewVersion(conversion?.webhook?.conversionReviewVersions ?? []);
}

export function conversionErrors(
  spec: Decoded<CustomResourceDefinitionSpec>,
  requireKnownVersion: boolean,
): Errors {
  const { conversion } = spec;
  if (conversion === undefined) return [];
  const { strategy = '', webhook } = conversion;
  const errors: Errors = [];
  if (strategy !== 'None' && spec.preserveUnknownFields === true)
    errors.push(invalid(`${at}.strategy`, strategy, 'must be None if spec.preserveUnknownFields is true'));
  if (strategy === '') errors.push(required(`${at}.strategy`));
  else if (!strategies.includes(strategy)) errors.push(notSupported(`${at}.strategy`, strategy, strategies));
  if (strategy === 'Webhook') return [...errors, ...webhookErrors(webhook ?? {}, requireKnownVersion)];
  const why = 'should not be set when strategy is not set to Webhook';
  if (webhook?.clientConfig !== undefined) errors.push(forbidden(`${at}.webhookClientConfig`, why));
  if ((webhook?.conversionReviewVersions ?? []).length > 0)
    errors.push(forbidden(`${at}.conversionReviewVersions`, why));
  return errors;
}

function webhookErrors(webhook: Decoded<WebhookConversion>, requireKnownVersion: boolean): Errors {
  const config = `${at}.webhookClientConfig`;
  const { clientConfig, conversionReviewVersions = [] } = webhook;
  const errors: Errors = [];
  if (clientConfig === undefined) errors.push(required(config, 'required when strategy is set to Webhook'));
  else errors.push(...clientConfigErrors(config, clientConfig));
  return [
    ...errors,
    ...reviewVersionErrors(`${at}.conversionReviewVersions`, conversionReviewVersions, requireKnownVersion),
  ];
}
