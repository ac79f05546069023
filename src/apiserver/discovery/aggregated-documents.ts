// Serves aggregated discovery, made once for what is served and named by its content.
import {
  type AggregatedVersion,
  aggregatedDiscovery,
  aggregatedMediaType,
} from '../../apimachinery/discovery/aggregated.ts';
import { type ServedGroup, servedGroups } from '../../apimachinery/discovery/groups.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import type { ApiServerConfig } from '../server-config.ts';

interface Wanted {
  readonly root: 'api' | 'apis';
  readonly version: AggregatedVersion;
}

interface Kept {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Other groups are another list; what was made of one goes with it. */
const kept = new WeakMap<readonly ServedGroup[], Map<string, Kept>>();

function documentOf({ scheme, aggregator }: ApiServerConfig, { root, version }: Wanted): Kept {
  const resources = scheme.resources();
  const remote = aggregator?.versions();
  const groups = servedGroups(resources, remote);
  const known = kept.get(groups) ?? new Map<string, Kept>();
  kept.set(groups, known);
  const key = `${root}/${version}`;
  let found = known.get(key);
  if (found === undefined) {
    const bytes = Buffer.from(`${JSON.stringify(aggregatedDiscovery(resources, root, version, remote))}\n`);
    found = { bytes, etag: `"${sha256Hex(bytes).toUpperCase()}"` };
    known.set(key, found);
  }
  return found;
}

export function aggregatedDocument(
  context: RequestContext,
  config: ApiServerConfig,
  wanted: Wanted,
): ApiResponse {
  const { bytes, etag } = documentOf(config, wanted);
  const headers = {
    'cache-control': 'public',
    'content-type': aggregatedMediaType(wanted.version),
    etag,
    vary: 'Accept',
  };
  return context.header('if-none-match') === etag
    ? { status: 304, headers, body: undefined }
    : { status: 200, headers, body: bytes };
}
