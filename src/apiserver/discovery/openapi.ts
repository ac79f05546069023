// Serves the OpenAPI documents: made when first asked for, kept until the kinds change, named by their content.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import type { Describe } from '../../apimachinery/openapi/description-text.ts';
import { openApiV2, openApiV3, openApiV3Index, openApiV3Paths } from '../../apimachinery/openapi/document.ts';
import { encodeOpenApiV2, openApiV2MediaType } from '../../apimachinery/openapi/v2-protobuf.ts';
import { threadTurns } from '../../component-base/thread-turns.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { bytesResponse } from '../response.ts';

interface Document {
  readonly bytes: Buffer;
  readonly hash: string;
}

interface Documents {
  readonly resources: readonly ResourceDeclaration[];
  readonly count: number;
  readonly byName: Map<string, Document>;
}

const kept = new WeakMap<Scheme, Documents>();

function documentsOf(scheme: Scheme): Map<string, Document> {
  const resources = scheme.resources();
  const found = kept.get(scheme);
  if (found && found.resources === resources && found.count === resources.length) return found.byName;
  const fresh: Documents = { resources, count: resources.length, byName: new Map() };
  kept.set(scheme, fresh);
  return fresh.byName;
}

const shortTypes: readonly string[] = [
  openApiV2MediaType,
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
];

interface OpenApiConfig {
  readonly scheme: Scheme;
  readonly version?: Readonly<Record<string, string>>;
}

export async function openApiResponse(
  context: RequestContext,
  path: string,
  config: OpenApiConfig,
): Promise<ApiResponse | undefined> {
  const { scheme } = config;
  const name = documentName(context, path, scheme);
  if (name === undefined) return undefined;
  const document = documentsOf(scheme).get(name) ?? (await madeInTurns(name, config));
  return document && withTag(context, document, name === protobufName ? openApiV2MediaType : undefined);
}

const protobufName = 'v2.pb';
const v3Name = (path: string): string => `v3/${path}`;

function documentName(context: RequestContext, path: string, scheme: Scheme): string | undefined {
  if (path === '/openapi/v2') {
    const accept = context.header('accept');
    return shortTypes.some((type) => accept.includes(type)) ? protobufName : 'v2';
  }
  if (path === '/openapi/v3') return 'v3';
  return openApiV3Paths(scheme)
    .map(v3Name)
    .find((name) => path === `/openapi/${name}`);
}

/** One document a turn: others wait no longer than for the largest. The index names each by its hash. */
async function madeInTurns(name: string, config: OpenApiConfig): Promise<Document | undefined> {
  const describe = await config.scheme.descriptions?.();
  const named = name === 'v3' ? openApiV3Paths(config.scheme).map(v3Name) : [];
  for (const one of named) {
    await threadTurns.take();
    documentOf(one, config, describe);
  }
  await threadTurns.take();
  return documentOf(name, config, describe);
}

/** Kinds may have changed since the turn before: what is kept is asked for again, and a group may be gone. */
function documentOf(
  name: string,
  config: OpenApiConfig,
  describe: Describe | undefined,
): Document | undefined {
  const documents = documentsOf(config.scheme);
  const known = documents.get(name);
  if (known) return known;
  const content = made(name, config, describe);
  if (content === undefined) return undefined;
  const bytes = Buffer.from(content);
  const document = { bytes, hash: sha256Hex(bytes).toUpperCase() };
  documents.set(name, document);
  return document;
}

const json = (value: JsonObject): Uint8Array => Buffer.from(JSON.stringify(value));

function made(name: string, config: OpenApiConfig, describe: Describe | undefined): Uint8Array | undefined {
  const { scheme } = config;
  const definition = (type: string, dialect: 'v2' | 'v3'): JsonObject | undefined =>
    scheme.definition?.(type, dialect);
  const info = { title: 'Kubernetes', version: config.version?.['gitVersion'] ?? '' };
  const options = { info, definition, describe };
  const hashOf = (path: string): string => documentOf(v3Name(path), config, describe)!.hash;
  if (name === protobufName) return encodeOpenApiV2(openApiV2(scheme, options));
  if (name === 'v2') return json(openApiV2(scheme, options));
  if (name === 'v3') return json(openApiV3Index(scheme, hashOf));
  const [, root, ...rest] = name.split('/');
  const [group, version] = root === 'apis' ? rest : ['', rest[0]];
  const document = openApiV3(scheme, group!, version!, options);
  return document && json(document);
}

function withTag(context: RequestContext, document: Document, type = 'application/json'): ApiResponse {
  const etag = `"${document.hash}"`;
  const headers = {
    'content-type': type,
    etag,
    vary: 'Accept',
    // A client that asks by hash may keep the document for ever, as upstream.
    'cache-control': context.query.get('hash') === document.hash ? 'public, immutable' : 'no-cache, private',
  };
  if (context.header('if-none-match') === etag) return { status: 304, headers, body: undefined };
  return { ...bytesResponse(200, document.bytes, type), headers };
}
