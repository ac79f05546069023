// The versions of a kind in which its managers own fields, and what they can't own through one of its subresources.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import type { OtherVersion, VersionedKind } from '../../apimachinery/fieldmanager/versioned-object.ts';
import { copyJson, meta, str } from '../../apimachinery/json-access.ts';
import { pathsOfKept } from '../../apimachinery/kept-metadata.ts';
import type { TrackedKind } from './field-manager.ts';

type Paths = readonly (readonly string[])[];

/** What upstream's strategies say beside the usual, by kind and subresource. */
const unusual: Readonly<Record<string, Paths>> = {
  '/namespaces/finalize': [['status']],
  'certificates.k8s.io/certificatesigningrequests/': [['spec'], ['status']],
  'certificates.k8s.io/certificatesigningrequests/approval': [['spec'], ['status', 'certificate']],
  'certificates.k8s.io/certificatesigningrequests/status': [['spec'], ['status', 'conditions']],
  // What it puts back of these it says of a group that there is not.
  'networking.k8s.io/servicecidrs/status': [],
};

/** Of subresources that write a part of the spec: all that can be owned through them (upstream: GetResetFieldsFilter). */
const parts: Readonly<Record<string, Paths>> = {
  '/pods/ephemeralcontainers': [['spec', 'ephemeralContainers']],
  '/pods/resize': ['containers', 'initContainers'].flatMap((list) =>
    ['resources', 'resizePolicy'].map((field) => ['spec', list, '*', field]),
  ),
};

type Limited = Pick<TrackedKind, 'group' | 'resource' | 'custom' | 'hasStatus' | 'strategy'>;

/** What a request to this (sub)resource can own of an object. */
export function limitsOf(
  declaration: Limited,
  subresource: string,
): Pick<VersionedKind, 'onlyFields' | 'resetFields'> {
  const { custom, group, resource } = declaration;
  const onlyFields = custom === true ? undefined : parts[`${group}/${resource}/${subresource}`];
  return onlyFields === undefined ? { resetFields: resetFields(declaration, subresource) } : { onlyFields };
}

/** What a request can't write, so nobody owns it through it. */
function resetFields({ group, resource, custom, hasStatus, strategy }: Limited, subresource: string): Paths {
  const own = custom === true ? undefined : unusual[`${group}/${resource}/${subresource}`];
  if (own !== undefined) return own;
  if (subresource === '') return hasStatus ? [['status']] : [];
  if (subresource !== 'status') return [];
  return [['spec'], ...pathsOfKept(strategy?.keptByStatus)];
}

/** It was written when the definition may have said something else. */
export const isOutdated = ({ schemaSince }: TrackedKind, live: JsonObject): boolean =>
  schemaSince !== undefined && Number(meta(live)['resourceVersion']) <= schemaSince.revision;

/** By apiVersion: undefined is what there is no more, or what never was one of its versions. */
export function otherVersionsOf(
  scheme: Scheme,
  declaration: TrackedKind,
  subresource: string,
): (apiVersion: string) => OtherVersion | undefined {
  return (apiVersion) => {
    if (declaration.custom === true) {
      const version = declaration.ownedVersion?.(apiVersion);
      return version && { ...version, ...limitsOf({ ...declaration, ...version }, subresource) };
    }
    const other = builtIn(scheme, declaration, apiVersion);
    return (
      other && {
        schema: scheme,
        type: other.type,
        ...limitsOf(other, subresource),
        convert: (object) => converted(scheme, object, other),
      }
    );
  };
}

/** The declaration of the same objects in another version. */
function builtIn(
  scheme: Scheme,
  { kind, storage }: TrackedKind,
  apiVersion: string,
): ResourceDeclaration | undefined {
  const slash = apiVersion.indexOf('/');
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  const other = scheme.kind({ group, version, kind });
  const isSame =
    storage !== undefined &&
    other?.storage.group === storage.group &&
    other.storage.resource === storage.resource;
  return isSame ? other : undefined;
}

function converted(scheme: Scheme, object: JsonObject, to: ResourceDeclaration): JsonObject {
  const from = builtIn(scheme, to, str(object['apiVersion']));
  const stored = from?.conversion?.toStorage(copyJson(object)) ?? copyJson(object);
  return to.conversion?.fromStorage(stored) ?? stored;
}
