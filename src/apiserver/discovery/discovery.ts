// Discovery documents: which groups, versions, resources and verbs there are, whole and in parts.
import type { ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import { apiVersionOf } from '../../apimachinery/resource-ref.ts';

interface GroupVersions {
  readonly group: string;
  readonly versions: readonly string[];
}

/** Groups in the order of the declarations, the preferred version first. */
export function groupsOf(scheme: Scheme): GroupVersions[] {
  const groups = new Map<string, Set<string>>();
  for (const d of scheme.resources()) {
    const versions = groups.get(d.group) ?? new Set<string>();
    versions.add(d.version);
    groups.set(d.group, versions);
  }
  return [...groups].map(([group, versions]) => ({ group, versions: [...versions].sort(byPriority) }));
}

/** Upstream's version priority: v2 before v1 before v1beta2 before v1alpha1. */
function byPriority(a: string, b: string): number {
  const parse = (v: string): [number, number, number] => {
    const m = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(v);
    if (!m) return [0, 0, 0];
    return [m[2] === undefined ? 3 : m[2] === 'beta' ? 2 : 1, Number(m[1]), Number(m[3] ?? 0)];
  };
  const [x, y] = [parse(a), parse(b)];
  return y[0] - x[0] || y[1] - x[1] || y[2] - x[2];
}

export const apiVersions = (serverAddress: string): object => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
});

const groupObject = ({ group, versions }: GroupVersions): object => {
  const list = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: list, preferredVersion: list[0] };
};

export const groupList = (scheme: Scheme): object => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groupsOf(scheme)
    .filter((g) => g.group !== '')
    .map(groupObject),
});

export function oneGroup(scheme: Scheme, group: string): object | undefined {
  const found = groupsOf(scheme).find((g) => g.group === group && group !== '');
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...groupObject(found) };
}

export function resourceList(scheme: Scheme, group: string, version: string): object | undefined {
  const declarations = scheme.resources().filter((d) => d.group === group && d.version === version);
  if (declarations.length === 0) return undefined;
  const resources = declarations.flatMap((d) => [mainResource(d), ...subresources(d)]);
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources: resources.sort((a, b) => (a['name']! < b['name']! ? -1 : 1)),
  };
}

type Row = Record<string, unknown> & { name: string };

const mainResource = (d: ResourceDeclaration): Row => ({
  name: d.resource,
  singularName: d.singular,
  namespaced: d.namespaced,
  kind: d.kind,
  verbs: [...d.verbs],
  ...(d.shortNames.length > 0 ? { shortNames: [...d.shortNames] } : {}),
  ...(d.categories.length > 0 ? { categories: [...d.categories] } : {}),
});

const subresources = (d: ResourceDeclaration): Row[] =>
  d.subresources.map((s) => ({
    name: `${d.resource}/${s.name}`,
    singularName: '',
    namespaced: d.namespaced,
    ...(s.kind.group === d.group && s.kind.version === d.version
      ? {}
      : { group: s.kind.group, version: s.kind.version }),
    kind: s.kind.kind,
    verbs: [...s.verbs],
  }));

/** Media type of the aggregated form, which kubectl and client-go ask for first. */
export const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export function aggregated(scheme: Scheme, core: boolean): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groupsOf(scheme)
      .filter((g) => (g.group === '') === core)
      .map((g) => ({
        metadata: { ...(g.group === '' ? {} : { name: g.group }), creationTimestamp: null },
        versions: g.versions.map((version) => ({
          version,
          resources: scheme
            .resources()
            .filter((d) => d.group === g.group && d.version === version)
            .map(aggregatedResource)
            .sort((a, b) => (a.resource < b.resource ? -1 : 1)),
          freshness: 'Current',
        })),
      })),
  };
}

function aggregatedResource(d: ResourceDeclaration): { resource: string } {
  const scope = d.namespaced ? 'Namespaced' : 'Cluster';
  return {
    resource: d.resource,
    responseKind: { group: d.group, version: d.version, kind: d.kind },
    scope,
    singularResource: d.singular,
    verbs: [...d.verbs],
    ...(d.shortNames.length > 0 ? { shortNames: [...d.shortNames] } : {}),
    ...(d.categories.length > 0 ? { categories: [...d.categories] } : {}),
    ...(d.subresources.length > 0
      ? {
          subresources: d.subresources.map((s) => ({
            subresource: s.name,
            responseKind: { ...s.kind },
            verbs: [...s.verbs],
          })),
        }
      : {}),
  } as { resource: string };
}
