// What a claim's volume begins with: two fields that say the same, an old one for claims and snapshots, and one for all kinds.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { type Errors, optional } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type { PersistentVolumeClaimSpec, TypedObjectReference } from '../../generated/types/core-v1.ts';

type Spec = Decoded<PersistentVolumeClaimSpec>;
type Source = Decoded<TypedObjectReference>;

const isClaimOrSnapshot = ({ apiGroup = '', kind }: Source): boolean =>
  (apiGroup === '' && kind === 'PersistentVolumeClaim') ||
  (apiGroup === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot');

/** Of other namespaces nothing is taken: upstream's feature for it is off unless asked for. */
function dropOtherNamespaces(spec: Spec, old: Spec | undefined): void {
  if (spec.dataSourceRef?.namespace && old?.dataSourceRef === undefined) delete spec.dataSourceRef;
}

/** In the old field, what could never be there is passed over in silence, as it always was. */
function dropUnknownKinds(spec: Spec, old: Spec | undefined): void {
  if (old?.dataSource !== undefined || old?.dataSourceRef !== undefined) return;
  if (spec.dataSourceRef !== undefined || spec.dataSource === undefined) return;
  if (!isClaimOrSnapshot(spec.dataSource)) delete spec.dataSource;
}

const copyOf = ({ apiGroup, kind, name }: Source): Source => ({
  ...(apiGroup === undefined ? {} : { apiGroup }),
  ...(kind === undefined ? {} : { kind }),
  ...(name === undefined ? {} : { name }),
});

/** Whoever reads either field finds what was said in the other. */
export function withDataSources(spec: Spec): Spec {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined && dataSourceRef === undefined)
    return { ...spec, dataSourceRef: copyOf(dataSource) };
  if (dataSource === undefined && dataSourceRef !== undefined && !dataSourceRef.namespace)
    return { ...spec, dataSource: copyOf(dataSourceRef) };
  return spec;
}

/** Also on an update: a client that sends one field alone, as it made the claim, changes nothing. */
export function prepareDataSources(spec: Spec, old: Spec | undefined): void {
  dropOtherNamespaces(spec, old);
  dropUnknownKinds(spec, old);
  Object.assign(spec, withDataSources(spec));
}

function sourceErrors(source: Source, at: string): Errors {
  const { apiGroup, kind = '', name = '', namespace } = source;
  const errors: Errors = [];
  if (name === '') errors.push(required(`${at}.name`));
  if (kind === '') errors.push(required(`${at}.kind`));
  if (!apiGroup && kind !== 'PersistentVolumeClaim')
    errors.push(invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  return [
    ...errors,
    ...optional(`${at}.apiGroup`, apiGroup, dnsSubdomain),
    ...optional(`${at}.namespace`, namespace, dnsLabel),
  ];
}

const say = ({ apiGroup, kind, name }: Source): string => JSON.stringify([apiGroup, kind, name]);

/** Upstream shows the path of a field here, and JSON has nothing of one. */
const shownPath = {};

export function dataSourceErrors({ dataSource, dataSourceRef }: Spec, at: string): Errors {
  const errors = [
    ...(dataSource === undefined ? [] : sourceErrors(dataSource, `${at}.dataSource`)),
    ...(dataSourceRef === undefined ? [] : sourceErrors(dataSourceRef, `${at}.dataSourceRef`)),
  ];
  if (dataSource === undefined || dataSourceRef === undefined) return errors;
  if (dataSourceRef.namespace)
    return [
      ...errors,
      invalid(at, shownPath, 'may not be specified when dataSourceRef.namespace is specified'),
    ];
  return say(dataSource) === say(dataSourceRef)
    ? errors
    : [...errors, invalid(at, shownPath, 'must match dataSourceRef')];
}
