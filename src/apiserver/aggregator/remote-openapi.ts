// What another server says of its kinds in OpenAPI v2: of the paths of its own groups and versions, and of the types they name.
import type { Json, JsonObject } from '../../apimachinery/json.ts';
import { isObject, obj, str } from '../../apimachinery/json-access.ts';
import { encodeOpenApiV2Part } from '../../apimachinery/openapi/v2-protobuf.ts';
import { maxMediaTypes, pathV3, schemaV3 } from '../../apimachinery/openapi/v2-to-v3.ts';
import { threadTurns } from '../../component-base/thread-turns.ts';

/** A path or a type, as it goes into the document of all. */
export interface OpenApiEntry {
  /** A member of an object. */
  readonly json: Buffer;
  readonly protobuf: Buffer;
}

export interface RemoteOpenApiV2 {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: ReadonlyMap<string, OpenApiEntry>;
  readonly definitions: ReadonlyMap<string, OpenApiEntry>;
}

/** Of one server: more than anybody has. What comes after, or is longer, is left out. */
const maxEntries = 4000;
const maxEntryLength = 128 << 10;
const maxTitle = 253;

const typeRef = /"\$ref":"#\/definitions\/([\w.-]{1,253})"/g;

function entryOf(kind: 'paths' | 'definitions', name: string, value: JsonObject): OpenApiEntry | undefined {
  const text = JSON.stringify(value);
  if (text.length > maxEntryLength) return undefined;
  const part = { paths: {}, definitions: {}, [kind]: { [name]: value } };
  return {
    json: Buffer.from(`${JSON.stringify(name)}:${text}`),
    protobuf: Buffer.from(encodeOpenApiV2Part(part)[kind]),
  };
}

const typesIn = ({ json }: OpenApiEntry): string[] =>
  [...json.toString().matchAll(typeRef)].map(([, name]) => name!);

/** In turns: one path or type at a time. `isOwn`: of a path. */
export async function remoteOpenApiV2(
  document: Json,
  isOwn: (path: string) => boolean,
): Promise<RemoteOpenApiV2> {
  const types = obj(obj(document)['definitions']);
  const { title, version } = obj(obj(document)['info']);
  const info = { title: str(title).slice(0, maxTitle), version: str(version).slice(0, maxTitle) };
  const found = {
    info,
    paths: new Map<string, OpenApiEntry>(),
    definitions: new Map<string, OpenApiEntry>(),
  };
  const wanted = new Set<string>();
  const take = async (kind: 'paths' | 'definitions', name: string, value: Json | undefined) => {
    if (!isObject(value) || found[kind].size >= maxEntries) return;
    await threadTurns.take();
    const entry = entryOf(kind, name, value);
    if (entry === undefined) return;
    found[kind].set(name, entry);
    for (const type of typesIn(entry)) wanted.add(type);
  };
  for (const [path, item] of Object.entries(obj(obj(document)['paths'])))
    if (isOwn(path)) await take('paths', path, item);
  // A type that is named meanwhile is looked at as well.
  for (const name of wanted) if (Object.hasOwn(types, name)) await take('definitions', name, types[name]);
  return found;
}

/**
 * A schema is told once for each media type; what is longer still has grown by their names, each said again with each of
 * thousands of answers, and is left out.
 */
const longestV3 = ({ json }: OpenApiEntry): number => 4096 + (maxMediaTypes + 1) * json.length;

/** What it says of the paths of `own`, as OpenAPI v3: upstream converts it for servers that have v2 only. In turns. */
export async function convertedToV3(
  { info, paths, definitions }: RemoteOpenApiV2,
  isOwn: (path: string) => boolean,
): Promise<Buffer> {
  const converted = async (
    entries: ReadonlyMap<string, OpenApiEntry>,
    convert: (value: JsonObject) => JsonObject,
    isWanted: (name: string) => boolean = () => true,
  ): Promise<string> => {
    const members: string[] = [];
    for (const [name, entry] of entries) {
      if (!isWanted(name)) continue;
      await threadTurns.take();
      const value = obj((JSON.parse(`{${entry.json}}`) as JsonObject)[name]);
      const text = JSON.stringify(convert(value));
      if (text.length <= longestV3(entry)) members.push(`${JSON.stringify(name)}:${text}`);
    }
    return `{${members.join()}}`;
  };
  const own = await converted(paths, pathV3, isOwn);
  const schemas = await converted(definitions, (value) => schemaV3(value));
  return Buffer.from(
    `{"openapi":"3.0.0","info":${JSON.stringify(info)},"paths":${own},"components":{"schemas":${schemas}}}`,
  );
}
