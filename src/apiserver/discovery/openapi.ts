// Serves the OpenAPI documents, named by their content.
import type { Scheme } from '../../apimachinery/declaration.ts';
import { openApiV2MediaType } from '../../apimachinery/openapi/v2-protobuf.ts';
import { parseAccept } from '../accept.ts';
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { bytesResponse } from '../response.ts';
import type { ApiServerConfig } from '../server-config.ts';
import { type Document, OpenApiDocuments } from './openapi-documents.ts';

const kept = new WeakMap<Scheme, OpenApiDocuments>();

type Form = 'json' | 'protobuf';
const formsOfV2: ReadonlyMap<string, Form> = new Map([
  ['application/json', 'json'],
  ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 'protobuf'],
  [openApiV2MediaType, 'protobuf'],
]);
/** Here its protobuf form is not made: whoever asks for that has JSON, and is told so. */
const formsOfV3: ReadonlyMap<string, Form> = new Map([
  ['application/json', 'json'],
  ['application/com.github.proto-openapi.spec.v3.v1.0+protobuf', 'json'],
  ['application/com.github.proto-openapi.spec.v3@v1.0+protobuf', 'json'],
]);

/** Upstream's handlers look for the first that fits, in an order of clauses that weighs nothing out. */
function formFor(header: string, forms: ReadonlyMap<string, Form>): Form | undefined {
  for (const { type, subType } of parseAccept(header === '' ? '*/*' : header))
    for (const [name, form] of forms) {
      const [knownType, known] = name.split('/', 2);
      if ((type === '*' || type === knownType) && (subType === '*' || subType === known)) return form;
    }
  return undefined;
}

/** They say no more than that. */
const notAcceptable: ApiResponse = { status: 406, headers: { vary: 'Accept' }, body: undefined };

export async function openApiResponse(
  context: RequestContext,
  path: string,
  config: Pick<ApiServerConfig, 'scheme' | 'version' | 'removedGroupVersions' | 'aggregator'>,
): Promise<ApiResponse | undefined> {
  const { scheme } = config;
  const info = { title: 'Kubernetes', version: config.version?.['gitVersion'] ?? '' };
  const documents = kept.get(scheme) ?? new OpenApiDocuments(scheme, info, config.removedGroupVersions);
  kept.set(scheme, documents);
  if (path === '/openapi/v2') {
    const form = formFor(context.header('accept'), formsOfV2);
    if (form === undefined) return notAcceptable;
    const elsewhere = config.aggregator?.openApiV2();
    return form === 'protobuf'
      ? withTag(context, await documents.v2('protobuf', elsewhere), openApiV2MediaType)
      : withTag(context, await documents.v2('json', elsewhere));
  }
  if (path === '/openapi/v3')
    return withTag(context, await documents.v3Index(config.aggregator?.openApiV3()));
  if (!path.startsWith('/openapi/v3/')) return undefined;
  if (formFor(context.header('accept'), formsOfV3) === undefined) return notAcceptable;
  const name = path.slice('/openapi/v3/'.length);
  const converted = config.aggregator?.convertedV3(name);
  if (converted !== undefined) return withTag(context, await converted());
  const removal = documents.removal(name);
  if (removal !== undefined) context.warn(removal);
  const found = await documents.v3(name);
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
