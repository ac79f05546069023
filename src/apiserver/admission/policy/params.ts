// The parameters that a binding gives to its policy.
import type { ParamKind, ParamRef } from '../../../api/generated/types/admissionregistration-v1.ts';
import type { JsonObject, ResourceDeclaration, Scheme } from '../../../apimachinery/declaration.ts';
import { matchesSelector, selectorFrom } from '../../../apimachinery/label-selector.ts';
import { inSlices, type Slice } from '../../../base/turns.ts';
import { threadTurns } from '../../../component-base/thread-turns.ts';
import type { CachedObject } from '../../../storage/watch/resource-cache.ts';
import type { LiveObjects } from '../../live-objects.ts';
import { decodeEntry, decodeEntrySteps } from '../../registry/encode.ts';
import { KeptByBytes, type KeptConversions } from '../../registry/kept-conversions.ts';
import { RemoteVersions } from '../../registry/remote-versions.ts';
import { ServedForm } from '../../registry/served-form.ts';
import { heavyBytes } from '../../request-context.ts';
import type { AdmissionRequest } from '../admission.ts';
import { namespaceOf } from '../webhook/matcher.ts';

/** The policy, or its binding, is no use as it is; `failurePolicy` says what becomes of the request. */
export class ConfigurationError extends Error {}

const keptBytes = 32 * 1024 * 1024;
/** Of a byte of JSON, parsed: objects of short fields take that much. */
const parsedBytes = 8;

const asGo = ({ apiVersion = '', kind = '' }: ParamKind): string =>
  `&ParamKind{APIVersion:${apiVersion},Kind:${kind},}`;

/** Read when its turn has come: they may be many, and large. Never to be modified: others are handed the same object. */
export type Param = (slice: Slice) => JsonObject | Promise<JsonObject>;

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
  readonly #conversions: KeptConversions;
  readonly #remotes = new WeakMap<ResourceDeclaration, RemoteVersions>();
  /** As policies read them: whoever asks for the same stored version next parses nothing. */
  readonly #kept = new KeptByBytes<JsonObject>(keptBytes, (_, { length }) => parsedBytes * length);

  constructor(live: LiveObjects, conversions: KeptConversions) {
    this.#live = live;
    this.#conversions = conversions;
  }

  /** The policy is evaluated with each of them. Throws ConfigurationError, and StatusError when nobody can tell its version. */
  async of(
    resource: ResourceDeclaration,
    kind: ParamKind,
    reference: ParamRef,
    request: AdmissionRequest,
  ): Promise<readonly Param[]> {
    if (resource.virtual)
      throw new ConfigurationError(`paramKind kind \`${asGo(kind)}\` not yet synced to use for admission`);
    const namespace = this.#namespaceOf(resource, reference, request);
    const found = await this.#find(resource, reference, namespace);
    if (found.length === 0 && reference.parameterNotFoundAction === 'Deny')
      throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
    return found.map(
      ({ value }) =>
        (slice) =>
          this.#read(resource, value, slice),
    );
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

  /** In the version of the kind if only a webhook can tell it; as they are stored otherwise. */
  async #find(
    resource: ResourceDeclaration,
    { name = '', selector }: ParamRef,
    namespace: string,
  ): Promise<readonly CachedObject[]> {
    if (name === '' && selector === undefined)
      throw new ConfigurationError('one of name or selector must be provided');
    const remote = this.#remoteOf(resource);
    if (name !== '') {
      const one = this.#live.stored(resource, namespace, name);
      if (one === undefined) return [];
      return remote === undefined ? [one] : remote.items([one]);
    }
    const wanted = selectorFrom(selector);
    const matches = ({ labels }: CachedObject['index']): boolean => matchesSelector(wanted, labels);
    if (remote === undefined) return this.#live.storedMatching(resource, namespace, matches);
    // A webhook may tell other labels.
    const all = await remote.items(this.#live.storedMatching(resource, namespace, () => true));
    return all.filter(({ index }) => matches(index));
  }

  #remoteOf(declaration: ResourceDeclaration): RemoteVersions | undefined {
    const { remoteConversion: conversion } = declaration;
    if (conversion === undefined) return undefined;
    let remote = this.#remotes.get(declaration);
    if (remote === undefined) {
      const form = new ServedForm(declaration);
      remote = new RemoteVersions({
        declaration,
        conversion,
        form,
        kept: this.#conversions,
        turns: threadTurns,
      });
      this.#remotes.set(declaration, remote);
    }
    return remote;
  }

  #read(declaration: ResourceDeclaration, value: Buffer, slice: Slice): JsonObject | Promise<JsonObject> {
    const known = this.#kept.get(value, declaration);
    if (known !== undefined) return known;
    // Conversion is in place: what is converted is nobody else's.
    const made = (stored: JsonObject): JsonObject => {
      const object = declaration.conversion?.fromStorage(stored) ?? stored;
      this.#kept.put(value, declaration, object);
      return object;
    };
    if (value.length <= heavyBytes) return made(decodeEntry(value));
    return inSlices(decodeEntrySteps(value), slice).then(made);
  }
}

/** Each in its turn: between two of them others have theirs as soon as they did a few milliseconds of work. */
export async function* eachParam(
  params: readonly Param[] | undefined,
  slice: Slice,
): AsyncGenerator<JsonObject | undefined, void, undefined> {
  for (const read of params ?? [undefined]) {
    if (slice.over) await slice.next();
    yield read && (await read(slice));
  }
}
