// Which groups and versions are served, in the order in which clients should prefer them.
import type { ResourceDeclaration } from '../declaration.ts';

export interface ServedVersion {
  readonly version: string;
  readonly resources: readonly ResourceDeclaration[];
}
export interface ServedGroup {
  readonly group: string;
  /** Preferred first. */
  readonly versions: readonly ServedVersion[];
}

/** Upstream's priorities of the built-in groups (aggregator's APIService priorities); others follow by name. */
const groupOrder: readonly string[] = [
  '',
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
];

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

export function servedGroups(resources: readonly ResourceDeclaration[]): readonly ServedGroup[] {
  const found = known.get(resources) ?? grouped(resources);
  known.set(resources, found);
  return found;
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
  const rank = (group: string): number => {
    const at = groupOrder.indexOf(group);
    return at < 0 ? groupOrder.length : at;
  };
  return [...groups]
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([group, versions]) => ({
      group,
      versions: [...versions]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, list]) => ({
          version,
          resources: list.sort((a, b) => (a.resource < b.resource ? -1 : 1)),
        })),
    }));
}
