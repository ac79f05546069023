// Paths that are no resources: discovery, health, version, metrics, OpenAPI and what composition adds.
import type { JsonObject } from '../apimachinery/declaration.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from '../apimachinery/discovery/discovery.ts';
import { servedGroups } from '../apimachinery/discovery/groups.ts';
import { methodNotAllowed } from '../apimachinery/errors.ts';
import { withoutTrailing } from '../base/without-trailing.ts';
import { storageVersionHash } from '../crypto/digests.ts';
import { aggregatedDocument } from './discovery/aggregated-documents.ts';
import { openApiResponse } from './discovery/openapi.ts';
import { type HealthCheck, healthPaths, healthResponse } from './healthz.ts';
import type { ApiResponse } from './http.ts';
import { checkProduced } from './negotiation.ts';
import type { RequestContext } from './request-context.ts';
import { bytesResponse, documentResponse, indentedResponse, notFoundPage } from './response.ts';
import type { ApiServerConfig, PathHandler } from './server-config.ts';

export interface PathDependencies {
  readonly config: ApiServerConfig;
  readonly health: readonly HealthCheck[];
}

export async function servePath(context: RequestContext, deps: PathDependencies): Promise<ApiResponse> {
  const path = context.info.path.length > 1 ? withoutTrailing(context.info.path, '/') : context.info.path;
  const own = ownPath(path, deps);
  if (own) return own(context);
  const { method } = context.request;
  const first = path.split('/')[1] ?? '';
  const known =
    healthPaths.includes(first) || ['', 'api', 'apis', 'version', 'metrics', 'openapi'].includes(first);
  if (known && method !== 'GET' && method !== 'HEAD') throw methodNotAllowed();
  if (healthPaths.includes(first)) return healthResponse(context, deps.health);
  switch (path) {
    case '/':
      return indentedResponse(200, { paths: rootPaths(deps) });
    case '/version':
      checkProduced(context, 'json');
      return indentedResponse(200, deps.config.version ?? {});
    case '/metrics': {
      const { text, contentType } = await deps.config.metrics.text();
      return bytesResponse(200, Buffer.from(text), contentType);
    }
    default:
      return (
        discovery(context, path, deps) ??
        (await openApiResponse(context, path, deps.config)) ??
        notFoundPage()
      );
  }
}

function ownPath(path: string, { config }: PathDependencies): PathHandler | undefined {
  const exact = config.paths?.get(path);
  if (exact || config.paths === undefined) return exact;
  let best = '';
  for (const prefix of config.paths.keys())
    if (prefix.endsWith('/') && `${path}/`.startsWith(prefix) && prefix.length > best.length) best = prefix;
  return best === '' ? undefined : config.paths.get(best);
}

function discovery(
  context: RequestContext,
  path: string,
  { config }: PathDependencies,
): ApiResponse | undefined {
  const [, root, group, version, ...rest] = path.split('/');
  if (rest.length > 0 || (root !== 'api' && root !== 'apis')) return undefined;
  if (root === 'api' && version !== undefined) return undefined;
  if (group === undefined) {
    const whole = aggregatedDocument(context, config, root);
    if (whole !== undefined) return whole;
  }
  const document = documentOf(config, root, group, version);
  if (document === undefined) return undefined;
  if (isRouted(config, root, group, version)) checkProduced(context, 'one');
  return documentResponse(context, document);
}

function documentOf(
  { scheme, aggregator, serverAddress }: ApiServerConfig,
  root: 'api' | 'apis',
  group: string | undefined,
  version: string | undefined,
): JsonObject | undefined {
  const resources = scheme.resources();
  if (root === 'api')
    return group === undefined
      ? apiVersions(serverAddress?.() ?? '')
      : apiResourceList(resources, '', group, storageVersionHash);
  if (group === undefined) return apiGroupList(resources, aggregator?.versions());
  if (version === undefined) return apiGroup(resources, group, aggregator?.versions());
  return group === '' ? undefined : apiResourceList(resources, group, version, storageVersionHash);
}

/** Upstream's aggregator answers for the list of groups and for each; its other server for custom versions. Both have no router. */
function isRouted(
  { scheme }: ApiServerConfig,
  root: 'api' | 'apis',
  group: string | undefined,
  version: string | undefined,
): boolean {
  if (root === 'api') return true;
  return (
    version !== undefined &&
    scheme.resources().some((d) => d.group === group && d.version === version && d.custom !== true)
  );
}

function rootPaths({ config, health }: PathDependencies): string[] {
  const paths = [
    '/api',
    '/apis',
    '/version',
    '/metrics',
    '/openapi/v2',
    '/openapi/v3',
    ...(config.paths?.keys() ?? []),
  ];
  for (const { group, versions } of servedGroups(config.scheme.resources(), config.aggregator?.versions())) {
    if (group === '') paths.push(...versions.map((v) => `/api/${v.version}`));
    else paths.push(`/apis/${group}`, ...versions.map((v) => `/apis/${group}/${v.version}`));
  }
  for (const path of healthPaths) {
    paths.push(`/${path}`);
    for (const check of health)
      if (check.paths === undefined || check.paths.includes(path)) paths.push(`/${path}/${check.name}`);
  }
  return paths.map((p) => (p.length > 1 ? p.replace(/\/$/, '') : p)).sort();
}
