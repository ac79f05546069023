// The parameters that a binding gives to its policy.
import type { ParamKind, ParamRef } from '../../../api/generated/types/admissionregistration-v1.ts';
import type { JsonObject, ResourceDeclaration, Scheme } from '../../../apimachinery/declaration.ts';
import { meta, obj, str } from '../../../apimachinery/json-access.ts';
import { matchesSelector, selectorFrom } from '../../../apimachinery/label-selector.ts';
import type { Labels } from '../../../apimachinery/labels.ts';
import type { LiveObjects } from '../../live-objects.ts';
import type { AdmissionRequest } from '../admission.ts';
import { namespaceOf } from '../webhook/matcher.ts';

/** The policy, or its binding, is no use as it is; `failurePolicy` says what becomes of the request. */
export class ConfigurationError extends Error {}

const asGo = ({ apiVersion = '', kind = '' }: ParamKind): string =>
  `&ParamKind{APIVersion:${apiVersion},Kind:${kind},}`;

/** Only what selectors ask: parameters of a kind may be many, and large. */
interface Labelled {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Labels;
}
const labelled = (object: unknown): Labelled => {
  const { name, namespace, labels } = meta(object as JsonObject);
  return { name: str(name), namespace: str(namespace), labels: obj(labels) as Labels };
};

/** What parameters of the kind are. Throws ConfigurationError. */
export function paramResource(
  { apiVersion = '', kind = '' }: ParamKind,
  scheme: Scheme,
): ResourceDeclaration {
  const slash = apiVersion.indexOf('/');
  const [group, version] =
    slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  const declaration = scheme.kind({ group, version, kind });
  if (declaration === undefined)
    throw new ConfigurationError(
      `failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`,
    );
  return declaration;
}

export class Params {
  readonly #live: LiveObjects;
  constructor(live: LiveObjects) {
    this.#live = live;
  }

  /** The policy is evaluated with each of them; undefined is none at all. Throws ConfigurationError. */
  of(
    resource: ResourceDeclaration | undefined,
    kind: ParamKind | undefined,
    reference: ParamRef | undefined,
    request: AdmissionRequest,
  ): readonly (JsonObject | undefined)[] {
    if (resource === undefined || kind === undefined || reference === undefined) return [undefined];
    if (resource.virtual)
      throw new ConfigurationError(`paramKind kind \`${asGo(kind)}\` not yet synced to use for admission`);
    const namespace = this.#namespaceOf(resource, reference, request);
    const found = this.#find(resource, reference, namespace);
    if (found.length === 0 && reference.parameterNotFoundAction === 'Deny')
      throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
    return found;
  }

  #namespaceOf(
    resource: ResourceDeclaration,
    { namespace = '' }: ParamRef,
    request: AdmissionRequest,
  ): string {
    if (!resource.namespaced) {
      if (namespace === '') return '';
      throw new ConfigurationError(
        'paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
      );
    }
    const found = namespace === '' ? namespaceOf(request) : namespace;
    if (found === '')
      throw new ConfigurationError(
        'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
      );
    return found;
  }

  #find(resource: ResourceDeclaration, { name = '', selector }: ParamRef, namespace: string): JsonObject[] {
    if (name === '' && selector === undefined)
      throw new ConfigurationError('one of name or selector must be provided');
    if (name !== '') {
      const one = this.#get(resource, name, namespace);
      return one === undefined ? [] : [one];
    }
    const wanted = selectorFrom(selector);
    return this.#live
      .summaries(resource, namespace, labelled)
      .filter(({ labels }) => matchesSelector(wanted, labels))
      .map((one) => this.#get(resource, one.name, one.namespace))
      .filter((one) => one !== undefined);
  }

  /** In the version of the kind. */
  #get(resource: ResourceDeclaration, name: string, namespace: string): JsonObject | undefined {
    const stored = this.#live.get<JsonObject>(resource as never, name, namespace);
    return stored === undefined ? undefined : (resource.conversion?.fromStorage(stored) ?? stored);
  }
}
