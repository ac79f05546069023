// What a server serves: every resource in its preferred version, with its verbs.
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { Client } from './client.ts';

export interface DiscoveredResource extends ResourceRef {
  readonly verbs: readonly string[];
  /** `status`, `scale` … */
  readonly subresources: readonly string[];
}

export interface Discovery {
  readonly resources: readonly DiscoveredResource[];
  /** Groups that did not answer: `metrics.k8s.io/v1beta1: the server is …`. What they hold is unknown. */
  readonly failures: readonly string[];
}

interface GroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly preferredVersion: { readonly groupVersion: string };
    readonly versions: readonly { readonly groupVersion: string }[];
  }[];
}
interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

type RawClient = Pick<Client, 'raw'>;

async function getJson<T>(client: RawClient, path: string): Promise<T> {
  const { body } = await client.raw({ method: 'GET', path });
  return JSON.parse(body.toString('utf8')) as T;
}

async function resourcesOf(client: RawClient, groupVersion: string): Promise<DiscoveredResource[]> {
  const cut = groupVersion.indexOf('/');
  const group = cut < 0 ? '' : groupVersion.slice(0, cut);
  const version = groupVersion.slice(cut + 1);
  const list = await getJson<ResourceList>(client, `${cut < 0 ? '/api' : '/apis'}/${groupVersion}`);
  const all = list.resources ?? [];
  const below = Map.groupBy(all, ({ name }) => name.split('/')[0] ?? '');
  return all
    .filter((resource) => !resource.name.includes('/'))
    .map(({ name, kind, namespaced, verbs }) => ({
      group,
      version,
      resource: name,
      kind,
      namespaced,
      verbs,
      subresources: (below.get(name) ?? []).flatMap((one) => one.name.split('/').slice(1)),
    }));
}

export async function discover(client: RawClient): Promise<Discovery> {
  const { groups = [] } = await getJson<GroupList>(client, '/apis');
  const failures: string[] = [];
  const found = new Map<string, DiscoveredResource>();
  // Preferred versions first; others only add resources that the preferred one lacks.
  const preferred = ['v1', ...groups.map((group) => group.preferredVersion.groupVersion)];
  const others = groups.flatMap((group) => group.versions.map((version) => version.groupVersion));
  for (const groupVersion of new Set([...preferred, ...others]))
    try {
      for (const resource of await resourcesOf(client, groupVersion)) {
        const id = `${resource.group}/${resource.resource}`;
        if (!found.has(id)) found.set(id, resource);
      }
    } catch (error) {
      failures.push(`${groupVersion}: ${error instanceof Error ? error.message : String(error)}`);
    }
  return { resources: [...found.values()], failures };
}

export const supports = (resource: DiscoveredResource, ...verbs: readonly string[]): boolean =>
  verbs.every((verb) => resource.verbs.includes(verb));
