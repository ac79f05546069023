// spec.conversion: how objects of one version become those of another.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each } from '../../../apimachinery/validation/checks.ts';
import { dns1035Label } from '../../../apimachinery/validation/names.ts';
import { serviceErrors, urlErrors } from '../../../apimachinery/validation/webhook-clients.ts';
import type {
  CustomResourceConversion,
  CustomResourceDefinitionSpec,
  WebhookConversion,
} from '../../generated/types/apiextensions-v1.ts';

const at = 'spec.conversion';
const strategies = ['None', 'Webhook'];
const reviewVersions = ['v1', 'v1beta1'];

export function hasKnownReviewVersion(conversion: Decoded<CustomResourceConversion> | undefined): boolean {
  const versions = conversion?.webhook?.conversionReviewVersions ?? [];
  return versions.length === 0 || versions.some((version) => reviewVersions.includes(version));
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
  else {
    const { url, service } = clientConfig;
    if ((url === undefined) === (service === undefined))
      errors.push(required(config, 'exactly one of url or service is required'));
    else if (url !== undefined) errors.push(...urlErrors(`${config}.url`, url));
    else if (service !== undefined) errors.push(...serviceErrors(`${config}.service`, service));
  }
  return [...errors, ...reviewVersionErrors(conversionReviewVersions, requireKnownVersion)];
}

function reviewVersionErrors(versions: readonly string[], requireKnownVersion: boolean): Errors {
  const field = `${at}.conversionReviewVersions`;
  if (versions.length === 0) return [required(field)];
  const errors = versions.flatMap((version, i) =>
    versions.indexOf(version) < i
      ? [invalid(`${field}[${i}]`, version, 'duplicate version')]
      : each(`${field}[${i}]`, version, dns1035Label),
  );
  if (requireKnownVersion && !versions.some((version) => reviewVersions.includes(version)))
    errors.push(invalid(field, versions, `must include at least one of ${reviewVersions.join(', ')}`));
  return errors;
}
