// The discovery documents of old clients: /api, /apis, /apis/<group>, /api/v1, /apis/<group>/<version>.
import type { JsonObject, ResourceDeclaration } from '../declaration.ts';
import type { ServedGroup } from './groups.ts';
import { servedGroups } from './groups.ts';
import type { RemoteVersion } from './remote-version.ts';

const groupVersion = (group: string, version: string): string =>
  group === '' ? version : `${group}/${version}`;

/** `/api`. `serverAddress` is host:port as clients reach it. */
export const apiVersions = (serverAddress: string): JsonObject => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
});

const groupOf = (g: ServedGroup): JsonObject => {
  const versions = g.versions.map((v) => ({
    groupVersion: groupVersion(g.group, v.version),
    version: v.version,
  }));
  return { name: g.group, versions, preferredVersion: versions[0]! };
};

/** `/apis`. The core group is not in it. */
export const apiGroupList = (
  resources: readonly ResourceDeclaration[],
  remote: readonly RemoteVersion[] = [],
): JsonObject => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: servedGroups(resources, remote)
    .filter((g) => g.group !== '')
    .map(groupOf),
});

/** `/apis/<group>`; undefined when the group is not served. */
export function apiGroup(
  resources: readonly ResourceDeclaration[],
  group: string,
  remote: readonly RemoteVersion[] = [],
): JsonObject | undefined {
  const found = servedGroups(resources, remote).find((g) => g.group === group && group !== '');
  return found ? { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(found) } : undefined;
}

/** Of `group/version/Kind`, as which objects are stored: opaque to clients, equal as long as that is the same. */
export type StorageVersionHash = (stored: string) => string;

/** `/api/v1` and `/apis/<group>/<version>`; undefined when nothing is served there. */
export function apiResourceList(
  resources: readonly ResourceDeclaration[],
  group: string,
  version: string,
  hash: StorageVersionHash,
): JsonObject | undefined {
  const served = servedGroups(resources)
    .find((g) => g.group === group)
    ?.versions.find((v) => v.version === version);
  if (!served) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersion(group, version),
    resources: served.resources.flatMap((resource) => entriesOf(resource, hash)),
  };
}

function entriesOf(r: ResourceDeclaration, hash: StorageVersionHash): JsonObject[] {
  const main: JsonObject = {
    name: r.resource,
    singularName: r.singular,
    namespaced: r.namespaced,
    kind: r.kind,
    verbs: [...r.verbs],
    ...(r.shortNames.length > 0 ? { shortNames: [...r.shortNames] } : {}),
    ...(r.categories.length > 0 ? { categories: [...r.categories] } : {}),
    ...(r.verbs.includes('get') && !r.virtual
      ? { storageVersionHash: hash(`${r.storage.group}/${r.storage.version}/${r.kind}`) }
      : {}),
  };
  return [
    main,
    ...r.subresources.map((s) => ({
      name: `${r.resource}/${s.name}`,
      singularName: '',
      namespaced: r.namespaced,
      ...(s.kind.group === r.group && s.kind.version === r.version
        ? {}
        : { group: s.kind.group, version: s.kind.version }),
      kind: s.kind.kind,
      verbs: [...s.verbs],
    })),
  ];
}
