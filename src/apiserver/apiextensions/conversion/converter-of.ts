// Who tells between the versions of a definition.
import type { WebhookClientConfig } from '../../../api/generated/types/apiextensions-v1.ts';
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { nameOf, obj, objs, str, strs } from '../../../apimachinery/json-access.ts';
import type { AskConverter } from '../version-conversion.ts';
import { type ConversionDeps, WebhookConverter } from './webhook-converter.ts';

/** As upstream: a bundle of spaces is none. */
function addressOf(config: WebhookClientConfig): WebhookClientConfig {
  const { caBundle, ...rest } = config;
  const isBlank = caBundle === undefined || Buffer.from(caBundle, 'base64').toString().trim() === '';
  return isBlank ? rest : config;
}

/** undefined: versions differ in nothing but their name. */
export function converterOf(crd: JsonObject, deps: ConversionDeps): AskConverter | undefined {
  const spec = obj(crd['spec']);
  const { strategy, webhook } = obj(spec['conversion']);
  if (strategy !== 'Webhook') return undefined;
  const { clientConfig, conversionReviewVersions } = obj(webhook);
  const converter = new WebhookConverter(deps, {
    definition: nameOf(crd),
    group: str(spec['group']),
    versions: objs(spec['versions']).map(({ name }) => str(name)),
    address: addressOf(obj(clientConfig) as unknown as WebhookClientConfig),
    reviewVersions: strs(conversionReviewVersions),
  });
  return (objects, apiVersion) => converter.convert(objects, apiVersion);
}
