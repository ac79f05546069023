// Serves aggregated discovery, made once for what is served and named by its content.
import { aggregatedDiscovery } from '../../apimachinery/discovery/aggregated.ts';
import { encodeAggregated } from '../../apimachinery/discovery/aggregated-protobuf.ts';
import { type ServedGroup, servedGroups } from '../../apimachinery/discovery/groups.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { encodeAnswer, wantsPretty } from '../encode-answer.ts';
import type { ApiResponse } from '../http.ts';
import { acceptedDiscovery, contentTypes, type Negotiated } from '../negotiation.ts';
import type { RequestContext } from '../request-context.ts';
import type { ApiServerConfig } from '../server-config.ts';

interface Kept {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Other groups are another list; what was made of one goes with it. */
const kept = new WeakMap<readonly ServedGroup[], Map<string, Kept>>();
/** The etag is that of the JSON, as upstream: which form it is the answer's Vary tells apart. */
const compactJson: Negotiated = { mediaType: 'json', form: 'object', formVersion: 'v1', pretty: false };
const encoder = {
  encode: (object: Parameters<typeof encodeAggregated>[0]): Buffer => Buffer.from(encodeAggregated(object)),
};
const plainRequest = { header: () => '', query: new URLSearchParams(), request: { url: '' } };

function documentOf(
  { scheme, aggregator }: ApiServerConfig,
  root: 'api' | 'apis',
  negotiated: Negotiated,
): Kept {
  const resources = scheme.resources();
  const remote = aggregator?.versions();
  const groups = servedGroups(resources, remote);
  const known = kept.get(groups) ?? new Map<string, Kept>();
  kept.set(groups, known);
  const key = `${root} ${negotiated.mediaType} ${negotiated.pretty}`;
  let found = known.get(key);
  if (found === undefined) {
    const document = aggregatedDiscovery(resources, root, remote);
    const json = encodeAnswer(plainRequest, compactJson, document, encoder)!;
    const bytes = encodeAnswer(plainRequest, negotiated, document, encoder)!;
    found = { bytes, etag: `"${sha256Hex(json).toUpperCase()}"` };
    known.set(key, found);
  }
  return found;
}

/** undefined: it is not what the client asks for. */
export function aggregatedDocument(
  context: RequestContext,
  config: ApiServerConfig,
  root: 'api' | 'apis',
): ApiResponse | undefined {
  const asked = acceptedDiscovery(context.header('accept'));
  if (asked === undefined) return undefined;
  const pretty = asked.mediaType === 'json' && wantsPretty(context, asked);
  const { bytes, etag } = documentOf(config, root, { ...asked, pretty });
  const headers = {
    'cache-control': 'public',
    'content-type': `${contentTypes[asked.mediaType]};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`,
    etag,
    vary: 'Accept',
  };
  return context.header('if-none-match') === etag
    ? { status: 304, headers, body: undefined }
    : { status: 200, headers, body: bytes };
}
