// How objects of a definition become those of another of its versions: by its webhook, or by nothing but their apiVersion.
// Either way what the schema of the version does not know goes.
import type {
  Convertible,
  JsonObject,
  RemoteConversion,
  ResourceDeclaration,
} from '../../apimachinery/declaration.ts';
import { copyJson, meta } from '../../apimachinery/json-access.ts';
import { setDefaults } from '../../apimachinery/structural/defaults.ts';
import { prune } from '../../apimachinery/structural/prune.ts';
import type { StructuralSchema } from '../../apimachinery/structural/structural-schema.ts';

/** Turns objects of a definition into another of its versions; those of the version stay as they are. */
export type AskConverter = (
  objects: readonly Convertible[],
  apiVersion: string,
) => Promise<readonly JsonObject[]>;

export interface VersionSchema {
  readonly apiVersion: string;
  schema(): StructuralSchema;
}

function pruned(object: JsonObject, { schema }: VersionSchema): JsonObject {
  prune(object, schema());
  return object;
}

const isOf = (object: JsonObject, { apiVersion }: VersionSchema): boolean =>
  object['apiVersion'] === apiVersion;

/** In place. */
function asVersion(object: JsonObject, version: VersionSchema): JsonObject {
  object['apiVersion'] = version.apiVersion;
  return pruned(object, version);
}

const remoteConversion = (
  ask: AskConverter,
  served: VersionSchema,
  storage: VersionSchema,
): RemoteConversion => ({
  toStorage: async (objects) =>
    (await ask(objects, storage.apiVersion)).map((object) => pruned(object, storage)),
  toServed: async (objects) =>
    (await ask(objects, served.apiVersion)).map((object) => {
      setDefaults(pruned(object, served), served.schema());
      return object;
    }),
});

/** In place: complete, and without what the schema does not know. */
function asServed(object: JsonObject, served: VersionSchema, since: number | undefined): JsonObject {
  if (isOf(object, served) && !(Number(meta(object)['resourceVersion']) <= (since ?? 0))) return object;
  const made = asVersion(object, served);
  setDefaults(made, served.schema());
  return made;
}

export interface VersionsOfKind {
  readonly served: VersionSchema;
  readonly storage: VersionSchema;
  /** As a declaration has it. */
  readonly since: number | undefined;
}

/** `ask`: who tells between versions; undefined: they differ in nothing but their name and what schemas say. */
export function versionConversion(
  ask: AskConverter | undefined,
  { served, storage, since }: VersionsOfKind,
): Pick<ResourceDeclaration, 'conversion' | 'remoteConversion'> {
  if (ask !== undefined) return { remoteConversion: remoteConversion(ask, served, storage) };
  return {
    conversion: {
      // The caller goes on with the object.
      toStorage: (object) => (isOf(object, storage) ? object : asVersion(copyJson(object), storage)),
      fromStorage: (object) => asServed(object, served, since),
    },
  };
}
