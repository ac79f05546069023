// How objects of a definition become those of another of its versions: by its webhook, or by nothing but their apiVersion.
// Either way what the schema of the version does not know goes.
import type {
  Convertible,
  JsonObject,
  RemoteConversion,
  ResourceDeclaration,
  SchemaAge,
  ShownVersion,
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

/** In place: nothing that the schema does not know, and all that it has defaults for. */
function completed(object: JsonObject, version: VersionSchema): JsonObject {
  setDefaults(pruned(object, version), version.schema());
  return object;
}

const isOf = (object: JsonObject, { apiVersion }: VersionSchema): boolean =>
  object['apiVersion'] === apiVersion;

/** In place. */
function asVersion(object: JsonObject, version: VersionSchema): JsonObject {
  object['apiVersion'] = version.apiVersion;
  return pruned(object, version);
}

export interface VersionsOfKind {
  readonly served: VersionSchema;
  readonly storage: VersionSchema;
  /** All of the definition, by apiVersion. */
  readonly all: ReadonlyMap<string, VersionSchema>;
  /** Of an object of the served version, in place: what resources within it say of themselves. */
  readEmbedded(object: JsonObject): void;
  /** As a declaration has it. */
  readonly since: SchemaAge | undefined;
}

/** Whose schema a stored object has to be read by; undefined: it was complete when it was written, and still is. */
function outdatedOf(object: JsonObject, { all, since }: VersionsOfKind): VersionSchema | undefined {
  if (since === undefined || !(Number(meta(object)['resourceVersion']) <= since.revision)) return undefined;
  return all.get(String(object['apiVersion']));
}

/** As upstream reads what is stored, before anybody makes another version of it. */
function asRead(given: Convertible, versions: VersionsOfKind): Convertible {
  const own = outdatedOf(given.object, versions);
  if (own === undefined) return given;
  const object = completed(copyJson(given.object), own);
  // Nobody is asked for what is of the version already.
  const bytes = own.apiVersion === versions.served.apiVersion ? given.bytes : undefined;
  return { object, bytes: bytes ?? Buffer.from(JSON.stringify(object)) };
}

/** As upstream: a version that is only served sets no defaults in what was stored. */
const remoteConversion = (ask: AskConverter, versions: VersionsOfKind): RemoteConversion => {
  const { served, storage } = versions;
  return {
    toStorage: async (objects) =>
      (await ask(objects, storage.apiVersion)).map((object) => completed(object, storage)),
    toServed: async (objects) => {
      const read = objects.map((one) => asRead(one, versions));
      return (await ask(read, served.apiVersion)).map((object) => pruned(object, served));
    },
  };
};

/** In place. */
function asServed(object: JsonObject, versions: VersionsOfKind): JsonObject {
  const own = outdatedOf(object, versions);
  if (own !== undefined) completed(object, own);
  return isOf(object, versions.served) ? object : asVersion(object, versions.served);
}

/** An object of the definition in another of its versions, and nothing that this one does not know. */
export function asOwned(
  ask: AskConverter | undefined,
  version: VersionSchema,
): (object: JsonObject) => JsonObject | Promise<JsonObject> {
  const { apiVersion } = version;
  if (ask === undefined) return (object) => asVersion(copyJson(object), version);
  return async (object) => {
    const bytes = Buffer.from(JSON.stringify(object));
    const [converted] = await ask([{ object, bytes }], apiVersion);
    return pruned(converted!, version);
  };
}

function shownVersion(ask: AskConverter | undefined, { served, readEmbedded }: VersionsOfKind): ShownVersion {
  const { apiVersion, schema } = served;
  return {
    async from(object) {
      if (ask === undefined) return { ...copyJson(object), apiVersion };
      const bytes = Buffer.from(JSON.stringify(object));
      const [converted] = await ask([{ object, bytes }], apiVersion);
      return converted!;
    },
    prune(object) {
      pruned(object, served);
      readEmbedded(object);
    },
    setDefaults: (object) => setDefaults(object, schema()),
  };
}

/** `ask`: who tells between versions; undefined: they differ in nothing but their name and what schemas say. */
export function versionConversion(
  ask: AskConverter | undefined,
  versions: VersionsOfKind,
): Pick<ResourceDeclaration, 'conversion' | 'remoteConversion' | 'shown'> {
  const shown = shownVersion(ask, versions);
  if (ask !== undefined) return { remoteConversion: remoteConversion(ask, versions), shown };
  const { storage } = versions;
  return {
    shown,
    conversion: {
      // The caller goes on with the object. What is stored is complete, so that it can be read as it is.
      toStorage: (object) =>
        isOf(object, storage)
          ? object
          : completed({ ...copyJson(object), apiVersion: storage.apiVersion }, storage),
      fromStorage: (object) => asServed(object, versions),
    },
  };
}
