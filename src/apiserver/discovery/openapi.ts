// Serves the OpenAPI documents: made when first asked for, kept until the kinds change, named by their content.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import { openApiV2, openApiV3, openApiV3Index, openApiV3Paths } from '../../apimachinery/openapi/document.ts';
import { encodeOpenApiV2, openApiV2MediaType } from '../../apimachinery/openapi/v2-protobuf.ts';
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

export function openApiResponse(
  context: RequestContext,
  path: string,
  config: { readonly scheme: Scheme; readonly version?: Readonly<Record<string, string>> },
): ApiResponse | undefined {
  const { scheme } = config;
  const definition = (type: string, dialect: 'v2' | 'v3'): JsonObject | undefined =>
    scheme.definition?.(type, dialect);
  const info = { title: 'Kubernetes', version: config.version?.['gitVersion'] ?? '' };
  const documents = documentsOf(scheme);
  const document = (name: string, make: () => Uint8Array): Document => {
    let known = documents.get(name);
    if (!known) {
      const bytes = Buffer.from(make());
      known = { bytes, hash: sha256Hex(bytes).toUpperCase() };
      documents.set(name, known);
    }
    return known;
  };
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  if (path === '/openapi/v2') {
    const accept = context.header('accept');
    if (shortTypes.some((type) => accept.includes(type)))
      return withTag(
        context,
        document('v2.pb', () => encodeOpenApiV2(openApiV2(scheme, { info, definition }))),
        openApiV2MediaType,
      );
    return withTag(
      context,
      document('v2', () => json(openApiV2(scheme, { info, definition }))),
    );
  }
  const v3 = (name: string): Document | undefined => {
    if (!openApiV3Paths(scheme).includes(name)) return undefined;
    const [, group, version] = name.startsWith('apis/') ? name.split('/') : ['', '', name.split('/')[1]];
    return document(`v3/${name}`, () => json(openApiV3(scheme, group!, version!, { info, definition })));
  };
  if (path === '/openapi/v3')
    return withTag(
      context,
      document('v3', () => json(openApiV3Index(scheme, (name) => v3(name)!.hash))),
    );
  if (!path.startsWith('/openapi/v3/')) return undefined;
  const found = v3(path.slice('/openapi/v3/'.length));
  return found && withTag(context, found);
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
