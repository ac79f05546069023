// The OpenAPI documents in parts, one for each group and version: when a kind changes, what is not of its part stays.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import { servedGroups } from '../../apimachinery/discovery/groups.ts';
import type { Describe } from '../../apimachinery/openapi/description-text.ts';
import {
  customOpenApiV2Part,
  type OpenApiInfo,
  type OpenApiV2Part,
  openApiV2Frame,
  openApiV2Part,
  openApiV3,
} from '../../apimachinery/openapi/document.ts';
import { encodeOpenApiV2Part, joinOpenApiV2 } from '../../apimachinery/openapi/v2-protobuf.ts';
import { threadTurns } from '../../component-base/thread-turns.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { OpenApiEntry, RemoteOpenApiV2 } from '../aggregator/remote-openapi.ts';
import { RecentBytes } from './recent-bytes.ts';

export interface Document {
  readonly bytes: Buffer;
  /** Names the content, for clients that keep it. */
  readonly hash: string;
}

interface Part {
  readonly resources: readonly ResourceDeclaration[];
  readonly custom: readonly ResourceDeclaration[];
  /** Of the document of version 3; made when first asked for. */
  hash?: string;
}

/** What a cluster with some hundred definitions asks for again and again; what is more is made anew. */
const keptBytes = 32_000_000;

export class OpenApiDocuments {
  readonly #scheme: Scheme;
  readonly #info: OpenApiInfo;
  /** The kinds that the parts were made of. */
  #resources: readonly ResourceDeclaration[] | undefined;
  #parts = new Map<string, Part>();
  readonly #recent = new RecentBytes(keptBytes);
  readonly #removed: ReadonlyMap<string, string>;

  /** `removed`: what is to be said of groups and versions (`extensions/v1beta1`) that are served no more. */
  constructor(scheme: Scheme, info: OpenApiInfo, removed: ReadonlyMap<string, string> = new Map()) {
    this.#removed = new Map([...removed].map(([name, sentence]) => [`apis/${name}`, sentence]));
    this.#scheme = scheme;
    this.#info = info;
  }

  /** `/openapi/v3`: where each document is; its hash lets clients keep it for ever. A turn for each that is made. `elsewhere`: hashes of what others serve. */
  async v3Index(elsewhere: ReadonlyMap<string, string> = new Map()): Promise<Document> {
    let describe: Describe | undefined;
    for (;;) {
      // Kinds may have changed since the turn before.
      const unnamed = [...this.#current().values()].find((part) => this.#hashOf(part) === undefined);
      if (unnamed === undefined) break;
      describe ??= await this.#scheme.descriptions?.();
      await this.#makeV3(unnamed, describe);
    }
    const paths: JsonObject = {};
    for (const [path, { hash }] of this.#current())
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
    for (const path of this.#removed.keys())
      paths[path] ??= { serverRelativeURL: `/openapi/v3/${path}?hash=${this.#nothing().hash}` };
    for (const [path, hash] of elsewhere)
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}${hash === '' ? '' : `?hash=${hash}`}` };
    return named(Buffer.from(JSON.stringify({ paths })));
  }

  /** `path` is relative to `/openapi/v3/`: `api/v1`, `apis/apps/v1`. */
  async v3(path: string): Promise<Document | undefined> {
    for (;;) {
      const part = this.#current().get(path);
      if (part === undefined) return this.#removed.has(path) ? this.#nothing() : undefined;
      const hash = this.#hashOf(part);
      const kept = hash === undefined ? undefined : this.#recent.get(hash);
      if (hash !== undefined && kept !== undefined) return { bytes: kept, hash };
      const made = await this.#makeV3(part, await this.#scheme.descriptions?.());
      // The group may be gone, or have other kinds.
      if (this.#current().get(path) === part) return made;
    }
  }

  /** What took the place of a version that is not served. */
  removal(path: string): string | undefined {
    return this.#current().has(path) ? undefined : this.#removed.get(path);
  }

  /** No schema, but a place to ask for it: who validates a manifest comes by here before it is looked up, and is warned. */
  #nothing(): Document {
    return named(Buffer.from(JSON.stringify({ openapi: '3.0.0', info: this.#info, paths: {} })));
  }

  /** All in one; made of the parts that are known and those that are new, in turns with other work. */
  async v2(form: 'json' | 'protobuf', elsewhere: readonly RemoteOpenApiV2[] = []): Promise<Document> {
    const parts = [...this.#current().values()];
    const pieces = [await this.#builtInV2(parts, form)];
    for (const part of parts) {
      if (part.custom.length === 0) continue;
      const key = `v2/${form}/${customHash(this.#info, part)}`;
      const kept = this.#keptV2(key);
      if (kept === undefined) await threadTurns.take();
      pieces.push(kept ?? this.#keepV2(key, form, customOpenApiV2Part(this.#scheme, part.custom)));
    }
    const taken = { paths: new Set<string>(), definitions: new Set<string>() };
    for (const { paths, definitions } of elsewhere)
      pieces.push({
        paths: this.#notTaken(paths, taken.paths, form),
        definitions: this.#notTaken(definitions, taken.definitions, form),
      });
    return named(Buffer.concat(join(openApiV2Frame(this.#info), pieces, form)));
  }

  /** Of entries that others describe: what is described here, or by another before, stays as it is. */
  #notTaken(
    entries: ReadonlyMap<string, OpenApiEntry>,
    taken: Set<string>,
    form: 'json' | 'protobuf',
  ): Buffer {
    const own: Buffer[] = [];
    for (const [name, entry] of entries) {
      const isHere = this.#scheme.type(name) ?? this.#scheme.definition?.(name, 'v2');
      if (isHere !== undefined || taken.has(name)) continue;
      taken.add(name);
      if (form === 'json' && own.length > 0) own.push(comma);
      own.push(entry[form]);
    }
    return Buffer.concat(own);
  }

  async #builtInV2(parts: readonly Part[], form: 'json' | 'protobuf'): Promise<PartBytes> {
    const builtIn = parts.flatMap(({ resources }) => resources.filter((d) => d.custom !== true));
    const names = builtIn.map((d) => `${d.group}/${d.version}/${d.resource}`);
    const key = `v2/${form}/${hashOf(Buffer.from(names.join()))}`;
    const kept = this.#keptV2(key);
    if (kept !== undefined) return kept;
    const describe = await this.#scheme.descriptions?.();
    await threadTurns.take();
    return this.#keepV2(key, form, openApiV2Part(this.#scheme, builtIn, { describe }));
  }

  #current(): ReadonlyMap<string, Part> {
    const resources = this.#scheme.resources();
    if (resources === this.#resources) return this.#parts;
    const next = new Map<string, Part>();
    for (const { group, versions } of servedGroups(resources))
      for (const { version, resources: served } of versions) {
        const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
        const known = this.#parts.get(path);
        const same =
          known?.resources.length === served.length && served.every((d, i) => d === known.resources[i]);
        next.set(path, same ? known : { resources: served, custom: served.filter((d) => d.custom === true) });
      }
    this.#parts = new Map([...next].sort(([a], [b]) => (a < b ? -1 : 1)));
    this.#resources = resources;
    return this.#parts;
  }

  /** What custom resources look like is known by their definitions: nothing is made for the index's sake. */
  #hashOf(part: Part): string | undefined {
    if (part.custom.length === part.resources.length) part.hash ??= customHash(this.#info, part);
    return part.hash;
  }

  async #makeV3(part: Part, describe: Describe | undefined): Promise<Document> {
    const { definition } = this.#scheme;
    await threadTurns.take();
    const form = { info: this.#info, describe, ...(definition ? { definition } : {}) };
    const bytes = Buffer.from(JSON.stringify(openApiV3(this.#scheme, part.resources, form)));
    part.hash ??= hashOf(bytes);
    this.#recent.put(part.hash, bytes);
    return { bytes, hash: part.hash };
  }

  #keptV2(key: string): PartBytes | undefined {
    const [paths, definitions] = [this.#recent.get(`${key}/paths`), this.#recent.get(`${key}/definitions`)];
    return paths && definitions && { paths, definitions };
  }

  #keepV2(key: string, form: 'json' | 'protobuf', part: OpenApiV2Part): PartBytes {
    const made = bytesOf(part, form);
    this.#recent.put(`${key}/paths`, made.paths);
    this.#recent.put(`${key}/definitions`, made.definitions);
    return made;
  }
}

const comma = Buffer.from(',');

interface PartBytes {
  readonly paths: Buffer;
  readonly definitions: Buffer;
}

const customHash = (info: OpenApiInfo, { custom }: Part): string =>
  hashOf(Buffer.from(JSON.stringify([info, custom.map((d) => [d.type, d.definedAs, d.verbs])])));
const hashOf = (bytes: Buffer): string => sha256Hex(bytes).toUpperCase();
const named = (bytes: Buffer): Document => ({ bytes, hash: hashOf(bytes) });

function bytesOf(part: OpenApiV2Part, form: 'json' | 'protobuf'): PartBytes {
  if (form === 'protobuf') {
    const { paths, definitions } = encodeOpenApiV2Part(part);
    return { paths: Buffer.from(paths), definitions: Buffer.from(definitions) };
  }
  /** Without its braces: members of one object that is put together later. */
  const members = (object: JsonObject): Buffer => Buffer.from(JSON.stringify(object).slice(1, -1));
  return { paths: members(part.paths), definitions: members(part.definitions) };
}

function join(frame: JsonObject, parts: readonly PartBytes[], form: 'json' | 'protobuf'): Uint8Array[] {
  if (form === 'protobuf') return joinOpenApiV2(frame, parts);
  const listed = (pieces: readonly Buffer[]): Buffer[] =>
    pieces.filter((piece) => piece.length > 0).flatMap((piece, i) => (i === 0 ? [piece] : [comma, piece]));
  return [
    Buffer.from(`${JSON.stringify(frame).slice(0, -1)},"paths":{`),
    ...listed(parts.map((part) => part.paths)),
    Buffer.from('},"definitions":{'),
    ...listed(parts.map((part) => part.definitions)),
    Buffer.from('}}'),
  ];
}
