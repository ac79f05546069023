// Which groups and versions are served, in the order in which clients should prefer them.
import type { ResourceDeclaration } from '../declaration.ts';
import type { RemoteVersion } from './remote-version.ts';

export interface ServedVersion {
  readonly version: string;
  readonly resources: readonly ResourceDeclaration[];
  /** Another server answers, and this is what it serves. */
  readonly remote?: RemoteVersion;
}
export interface ServedGroup {
  readonly group: string;
  /** Preferred first. */
  readonly versions: readonly ServedVersion[];
}

/** Upstream's priorities of the built-in groups: those of their APIServices. `/apis` begins with APIServices themselves. */
const groupPriorities: ReadonlyMap<string, number> = new Map([
  ['', 20_002],
  ['apiregistration.k8s.io', 20_001],
  ['apps', 17_800],
  ['events.k8s.io', 17_750],
  ['authentication.k8s.io', 17_700],
  ['authorization.k8s.io', 17_600],
  ['autoscaling', 17_500],
  ['batch', 17_400],
  ['certificates.k8s.io', 17_300],
  ['networking.k8s.io', 17_200],
  ['policy', 17_100],
  ['rbac.authorization.k8s.io', 17_000],
  ['storage.k8s.io', 16_800],
  ['admissionregistration.k8s.io', 16_700],
  ['apiextensions.k8s.io', 16_700],
  ['scheduling.k8s.io', 16_600],
  ['coordination.k8s.io', 16_500],
  ['node.k8s.io', 16_300],
  ['discovery.k8s.io', 16_200],
  ['resource.k8s.io', 16_200],
  ['flowcontrol.apiserver.k8s.io', 16_100],
  ['storagemigration.k8s.io', 15_800],
  ['metrics.k8s.io', 100],
]);
/** Of what clients define. */
const customPriority = { group: 1000, version: 100 } as const;

const groupPriorityOf = ({ group, versions }: ServedGroup): number =>
  Math.max(
    ...versions.map(
      ({ remote }) => remote?.groupPriority ?? groupPriorities.get(group) ?? customPriority.group,
    ),
  );

const byPriority = (groups: readonly ServedGroup[]): ServedGroup[] =>
  groups
    .map((one) => ({ one, priority: groupPriorityOf(one) }))
    .sort((a, b) => b.priority - a.priority || (a.one.group < b.one.group ? -1 : 1))
    .map(({ one }) => one);

const parts = (version: string): readonly [number, number, number] | undefined => {
  const found = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (!found) return undefined;
  const stage = found[2] === undefined ? 2 : found[2] === 'beta' ? 1 : 0;
  return [stage, Number(found[1]), Number(found[3] ?? 0)];
};

/** Upstream's CompareKubeAwareVersionStrings, newest and stablest first: v10, v2, v1, v2beta1, v1alpha1, foo. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [parts(a), parts(b)];
  if (!x || !y) return x ? -1 : y ? 1 : a < b ? -1 : a > b ? 1 : 0;
  for (let i = 0; i < 3; i++) if (x[i] !== y[i]) return y[i]! - x[i]!;
  return 0;
}

/** A scheme gives out another array when its kinds change; until then all documents are made from the same groups. */
const known = new WeakMap<readonly ResourceDeclaration[], readonly ServedGroup[]>();
/** Likewise of what is served elsewhere. */
const joined = new WeakMap<
  readonly ServedGroup[],
  WeakMap<readonly RemoteVersion[], readonly ServedGroup[]>
>();

export function servedGroups(
  resources: readonly ResourceDeclaration[],
  remote: readonly RemoteVersion[] = [],
): readonly ServedGroup[] {
  const found = known.get(resources) ?? grouped(resources);
  known.set(resources, found);
  if (remote.length === 0) return found;
  const made = joined.get(found) ?? new WeakMap<readonly RemoteVersion[], readonly ServedGroup[]>();
  joined.set(found, made);
  const all = made.get(remote) ?? withRemote(found, remote);
  made.set(remote, all);
  return all;
}

const compareServed = (a: ServedVersion, b: ServedVersion): number =>
  (b.remote?.versionPriority ?? customPriority.version) -
    (a.remote?.versionPriority ?? customPriority.version) || compareVersions(a.version, b.version);

/** A version that is elsewhere is not here, whatever else is known of it. */
function withRemote(
  groups: readonly ServedGroup[],
  remote: readonly RemoteVersion[],
): readonly ServedGroup[] {
  const all = new Map(groups.map((one) => [one.group, one]));
  for (const [group, elsewhere] of Map.groupBy(remote, (one) => one.group)) {
    const versions = new Map((all.get(group)?.versions ?? []).map((one) => [one.version, one]));
    for (const one of elsewhere)
      versions.set(one.version, { version: one.version, resources: [], remote: one });
    all.set(group, { group, versions: [...versions.values()].sort(compareServed) });
  }
  return byPriority([...all.values()]);
}

function grouped(resources: readonly ResourceDeclaration[]): readonly ServedGroup[] {
  const groups = new Map<string, Map<string, ResourceDeclaration[]>>();
  for (const r of resources) {
    const versions = groups.get(r.group) ?? new Map<string, ResourceDeclaration[]>();
    groups.set(r.group, versions);
    const list = versions.get(r.version) ?? [];
    versions.set(r.version, list);
    list.push(r);
  }
  return byPriority(
    [...groups].map(([group, versions]) => ({
      group,
      versions: [...versions]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, list]) => ({
          version,
          resources: list.sort((a, b) => (a.resource < b.resource ? -1 : 1)),
        })),
    })),
  );
}
