// Volumes that are made of several sources at once, as the one with a service account's token.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { labelSelector } from '../../../apimachinery/validation/checks.ts';
import type {
  ClusterTrustBundleProjection,
  KeyToPath,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../generated/types/core-v1.ts';
import { downwardFileErrors } from './downward-selectors.ts';
import { modeErrors, nonReserved } from './volume-paths.ts';
import { given } from './volume-sources.ts';

/** Files that are made of keys of a Secret or ConfigMap. */
export const itemErrors = (field: string, items: readonly Decoded<KeyToPath>[] = []): Errors =>
  items.flatMap((item, i) => {
    const at = `${field}.items[${i}]`;
    return [
      ...given(`${at}.key`, item.key),
      ...(item.path ? nonReserved(`${at}.path`, item.path) : [required(`${at}.path`)]),
      ...modeErrors(`${at}.mode`, item.mode),
    ];
  });

/** What all sources of one volume write, to find two that write the same file. */
interface Written {
  readonly field: string;
  readonly paths: Set<string>;
}

/** `shown`: upstream shows the source's name where it has one. */
function twice({ field, paths }: Written, path = '', shown: string = path): Errors {
  if (path === '') return [];
  const known = paths.has(path);
  paths.add(path);
  return known ? [invalid(field, shown, 'conflicting duplicate paths')] : [];
}

export function projectedErrors(field: string, projected: Decoded<ProjectedVolumeSource>): Errors {
  const written: Written = { field, paths: new Set() };
  return [
    ...modeErrors(`${field}.defaultMode`, projected.defaultMode),
    ...(projected.sources ?? []).flatMap((source, i) =>
      sourceErrors(`${field}.sources[${i}]`, source, written),
    ),
  ];
}

function sourceErrors(at: string, source: Decoded<VolumeProjection>, written: Written): Errors {
  const errors: Errors = [];
  for (const kind of ['secret', 'configMap'] as const) {
    const named = source[kind];
    if (named === undefined) continue;
    errors.push(...given(`${at}.${kind}.name`, named.name), ...itemErrors(`${at}.${kind}`, named.items));
    for (const { path } of named.items ?? []) errors.push(...twice(written, path, named.name ?? ''));
  }
  for (const file of source.downwardAPI?.items ?? [])
    errors.push(...downwardFileErrors(`${at}.downwardAPI`, file), ...twice(written, file.path));
  if (source.serviceAccountToken !== undefined)
    errors.push(...tokenErrors(`${at}.serviceAccountToken`, source.serviceAccountToken, written.field));
  if (source.clusterTrustBundle !== undefined)
    errors.push(
      ...trustErrors(`${at}.clusterTrustBundle`, source.clusterTrustBundle),
      ...twice(written, source.clusterTrustBundle.path),
    );
  const kinds = Object.values(source).filter((one) => one !== undefined);
  if (kinds.length > 1) errors.push(forbidden(at, 'may not specify more than 1 volume type per source'));
  return errors;
}

/** Upstream tells of the token's path at the volume, not at the source. */
function tokenErrors(
  field: string,
  { expirationSeconds: seconds = 0, path = '' }: Decoded<ServiceAccountTokenProjection>,
  volume: string,
): Errors {
  const errors: Errors = [];
  const at = `${field}.expirationSeconds`;
  if (seconds < 600) errors.push(invalid(at, seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > 2 ** 32)
    errors.push(invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds'));
  return [...errors, ...(path === '' ? [required(`${volume}.path`)] : nonReserved(`${volume}.path`, path))];
}

function trustErrors(field: string, bundle: Decoded<ClusterTrustBundleProjection>): Errors {
  const { name, signerName, labelSelector: selector, path = '' } = bundle;
  const errors: Errors = [];
  if (name !== undefined && signerName !== undefined)
    errors.push(invalid(field, bundle, 'only one of name and signerName may be used'));
  else if (name !== undefined) {
    if (name === '') errors.push(required(`${field}.name`, 'must be a valid object name'));
    if (selector !== undefined)
      errors.push(
        invalid(`${field}.labelSelector`, selector, 'labelSelector must be unset if name is specified'),
      );
  } else if (signerName !== undefined) {
    if (signerName === '') errors.push(required(`${field}.signerName`, 'must be a valid signer name'));
    errors.push(...labelSelector(`${field}.labelSelector`, selector));
  } else errors.push(required(field, 'either name or signerName must be specified'));
  if (path === '') errors.push(required(`${field}.path`));
  return [...errors, ...nonReserved(`${field}.path`, path)];
}
