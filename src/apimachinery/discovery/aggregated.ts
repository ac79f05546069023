// Aggregated discovery (apidiscovery.k8s.io/v2): all groups in one answer, what kubectl asks first.
import type { JsonObject, ResourceDeclaration } from '../declaration.ts';
import { servedGroups } from './groups.ts';
import type { RemoteVersion } from './remote-version.ts';

/** What asks for it, and what it is answered with. */
export const aggregatedMediaType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** `/api` (core group only) or `/apis` (all others). */
export const aggregatedDiscovery = (
  resources: readonly ResourceDeclaration[],
  root: 'api' | 'apis',
  remote: readonly RemoteVersion[] = [],
): JsonObject => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: servedGroups(resources, remote)
    .filter((g) => (g.group === '') === (root === 'api'))
    .map((g) => ({
      metadata: g.group === '' ? {} : { name: g.group },
      versions: g.versions.map((v) => ({
        version: v.version,
        resources: v.remote === undefined ? v.resources.map(resourceOf) : [...v.remote.resources],
        freshness: v.remote?.freshness ?? 'Current',
      })),
    })),
});

const resourceOf = (r: ResourceDeclaration): JsonObject => ({
  resource: r.resource,
  responseKind: { group: r.group, version: r.version, kind: r.kind },
  scope: r.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: r.singular,
  verbs: [...r.verbs],
  ...(r.shortNames.length > 0 ? { shortNames: [...r.shortNames] } : {}),
  ...(r.categories.length > 0 ? { categories: [...r.categories] } : {}),
  ...(r.subresources.length > 0
    ? {
        subresources: r.subresources.map((s) => ({
          subresource: s.name,
          responseKind: { group: s.kind.group, version: s.kind.version, kind: s.kind.kind },
          verbs: [...s.verbs],
        })),
      }
    : {}),
});
