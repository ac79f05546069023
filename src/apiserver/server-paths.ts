// Paths that are no resources: discovery, health, version, metrics, OpenAPI and what composition adds.
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from '../apimachinery/discovery/discovery.ts';
import { servedGroups } from '../apimachinery/discovery/groups.ts';
import { badRequest, methodNotAllowed } from '../apimachinery/errors.ts';
import { withoutTrailing } from '../base/without-trailing.ts';
import { storageVersionHash } from '../crypto/digests.ts';
import { aggregatedDocument } from './discovery/aggregated-documents.ts';
import { openApiResponse } from './discovery/openapi.ts';
import { type HealthCheck, healthPaths, healthResponse } from './healthz.ts';
import type { ApiResponse } from './http.ts';
import type { RequestContext } from './request-context.ts';
import { bytesResponse, jsonResponse, notFoundPage } from './response.ts';
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
      return jsonResponse(200, { paths: rootPaths(deps) });
    case '/version':
      return jsonResponse(200, deps.config.version ?? {});
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
  if (rest.length > 0) return undefined;
  if (root === 'api') {
    if (group === undefined) {
      const whole = aggregatedResponse(context, config, true);
      return whole ?? jsonResponse(200, apiVersions(config.serverAddress?.() ?? ''));
    }
    if (version !== undefined) return undefined;
    return documentResponse(apiResourceList(config.scheme.resources(), '', group, storageVersionHash));
  }
  if (root !== 'apis') return undefined;
  if (group === undefined)
    return (
      aggregatedResponse(context, config, false) ??
      jsonResponse(200, apiGroupList(config.scheme.resources(), config.aggregator?.versions()))
    );
  if (version === undefined)
    return documentResponse(apiGroup(config.scheme.resources(), group, config.aggregator?.versions()));
  return group === ''
    ? undefined
    : documentResponse(apiResourceList(config.scheme.resources(), group, version, storageVersionHash));
}

const documentResponse = (document: object | undefined): ApiResponse | undefined =>
  document && jsonResponse(200, document);

function aggregatedResponse(
  context: RequestContext,
  config: ApiServerConfig,
  core: boolean,
): ApiResponse | undefined {
  const accept = context.header('accept').replace(/\s+/g, '');
  if (accept.length > 4096) throw badRequest('the Accept header is too long');
  const clause = accept
    .split(',')
    .find((c) => c.startsWith('application/json') && c.includes('as=APIGroupDiscoveryList'));
  const version = /;v=(v2|v2beta1)(?:;|$)/.exec(clause ?? '')?.[1] as 'v2' | 'v2beta1' | undefined;
  if (version === undefined) return undefined;
  return aggregatedDocument(context, config, { root: core ? 'api' : 'apis', version });
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
