// What a server serves: every resource in its preferred version, with its verbs.
import { aggregatedMediaType } from '../apimachinery/discovery/aggregated.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { Client } from './client.ts';

export interface DiscoveredResource extends ResourceRef {
  readonly verbs: readonly string[];
  /** `status`, `scale` … */
  readonly subresources: readonly string[];
}

export interface Discovery {
  readonly resources: readonly DiscoveredResource[];
  /** Of each group its versions, the preferred one first. */
  readonly versions: ReadonlyMap<string, readonly string[]>;
  /** Groups that did not answer: `metrics.k8s.io/v1beta1: the server is …`. What they hold is unknown. */
  readonly failures: readonly string[];
}

interface DiscoveredVersion {
  readonly version: string;
  /** `Stale` when the server behind the group did not answer. */
  readonly freshness?: string;
  readonly resources?: readonly {
    readonly resource: string;
    readonly responseKind?: { readonly kind: string };
    readonly scope: string;
    readonly verbs: readonly string[];
    readonly subresources?: readonly { readonly subresource: string }[];
  }[];
}
interface DiscoveredGroups {
  readonly items?: readonly {
    readonly metadata: { readonly name?: string };
    /** Preferred first. */
    readonly versions: readonly DiscoveredVersion[];
  }[];
}

type RawClient = Pick<Client, 'raw'>;

async function groupsBelow(
  client: RawClient,
  path: '/api' | '/apis',
): Promise<NonNullable<DiscoveredGroups['items']>> {
  const { body } = await client.raw({ method: 'GET', path, accept: aggregatedMediaType });
  return (JSON.parse(body.toString('utf8')) as DiscoveredGroups).items ?? [];
}

const resourcesOf = (group: string, { version, resources = [] }: DiscoveredVersion): DiscoveredResource[] =>
  resources.map(({ resource, responseKind, scope, verbs, subresources = [] }) => ({
    group,
    version,
    resource,
    kind: responseKind?.kind ?? '',
    namespaced: scope === 'Namespaced',
    verbs,
    subresources: subresources.map(({ subresource }) => subresource),
  }));

/** In one question for each root: a thousand groups are asked for as one is. */
export async function discover(client: RawClient): Promise<Discovery> {
  const groups = [...(await groupsBelow(client, '/api')), ...(await groupsBelow(client, '/apis'))];
  const failures: string[] = [];
  const found = new Map<string, DiscoveredResource>();
  for (const { metadata, versions } of groups)
    for (const version of versions) {
      const group = metadata.name ?? '';
      if (version.freshness === 'Stale') {
        const groupVersion = `${group}/${version.version}`;
        failures.push(`${groupVersion}: stale GroupVersion discovery: ${groupVersion}`);
      }
      // Other versions only add resources that the preferred one lacks.
      for (const resource of resourcesOf(group, version)) {
        const id = `${group}/${resource.resource}`;
        if (!found.has(id)) found.set(id, resource);
      }
    }
  const versions = new Map(
    groups.map((one) => [one.metadata.name ?? '', one.versions.map(({ version }) => version)]),
  );
  return { resources: [...found.values()], versions, failures };
}

export const supports = (resource: DiscoveredResource, ...verbs: readonly string[]): boolean =>
  verbs.every((verb) => resource.verbs.includes(verb));
