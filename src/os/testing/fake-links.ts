// Links in memory, with what of the kernel's behaviour callers rely on.
import { type LinkChange, type LinkInfo, type Links, LinksError, type RouteInfo } from '../links.ts';
import { renderLinkChange } from '../linux/ip-render.ts';

interface FakeLink {
  mac: string;
  mtu: number;
  up: boolean;
  master: string | undefined;
  addresses: string[];
}

export interface FakeLinks extends Links {
  /** As if someone else had done it: watchers are told. */
  disturb(changes: readonly LinkChange[]): void;
}

/** `peerOf` finds the other namespace of a veth; without it peers with a namespace are only recorded. */
export function createFakeLinks(
  peerOf: (netns: string) => FakeLinks | undefined = () => undefined,
): FakeLinks {
  const links = new Map<string, FakeLink>([
    ['lo', { mac: '00:00:00:00:00:00', mtu: 65_536, up: false, master: undefined, addresses: [] }],
  ]);
  const routes = new Map<string, RouteInfo>();
  const watchers = new Set<() => void>();

  function link(name: string): FakeLink {
    const found = links.get(name);
    if (found === undefined) throw new LinksError(`Cannot find device "${name}"`);
    return found;
  }
  function add(name: string, mac = '02:00:00:00:00:01', mtu = 1500): void {
    if (links.has(name)) throw new LinksError('RTNETLINK answers: File exists');
    links.set(name, { mac, mtu, up: false, master: undefined, addresses: [] });
  }
  function dropRoutesOf(dev: string): void {
    for (const [to, route] of routes) if (route.dev === dev) routes.delete(to);
  }

  function applyOne(change: LinkChange): void {
    renderLinkChange(change); // refuses what the real one refuses
    switch (change.do) {
      case 'addBridge':
        add(change.name, change.mac);
        return;
      case 'addVeth': {
        add(change.name, change.mac, change.mtu);
        const { netns, ...peer } = change.peer;
        if (netns === undefined) add(peer.name, peer.mac, peer.mtu);
        else peerOf(netns)?.disturb([{ do: 'addBridge', name: peer.name }]);
        return;
      }
      case 'deleteLink':
        link(change.name);
        links.delete(change.name);
        dropRoutesOf(change.name);
        return;
      case 'setLink': {
        const found = link(change.name);
        found.up = change.up ?? found.up;
        found.master = change.master ?? found.master;
        found.mac = change.mac ?? found.mac;
        found.mtu = change.mtu ?? found.mtu;
        // as the kernel: routes do not come back with the link
        if (change.up === false) dropRoutesOf(change.name);
        return;
      }
      case 'replaceAddress': {
        const { addresses } = link(change.name);
        if (!addresses.includes(change.address)) addresses.push(change.address);
        return;
      }
      case 'deleteAddress': {
        const found = link(change.name);
        found.addresses = found.addresses.filter((address) => address !== change.address);
        return;
      }
      case 'replaceRoute':
        routes.set(change.to, {
          to: change.to,
          ...(change.via === undefined ? {} : { via: change.via }),
          ...(change.dev === undefined ? {} : { dev: change.dev }),
          unreachable: change.unreachable ?? false,
          protocol: String(change.protocol ?? 3),
        });
        return;
      case 'deleteRoute':
        if (change.dev !== undefined && routes.get(change.to)?.dev !== change.dev)
          throw new LinksError('RTNETLINK answers: No such process');
        if (!routes.delete(change.to)) throw new LinksError('RTNETLINK answers: No such process');
        return;
      case 'replaceNeighbour':
        link(change.dev);
    }
  }

  const info = ([name, found]: [string, FakeLink], index: number): LinkInfo => ({
    name,
    index: index + 1,
    mac: found.mac,
    mtu: found.mtu,
    up: found.up,
    ...(found.master === undefined ? {} : { master: found.master }),
    addresses: [...found.addresses],
  });
  return {
    apply: async (changes, options) => {
      for (const change of changes) {
        try {
          applyOne(change);
        } catch (error) {
          if (!options?.keepGoing) throw error;
        }
      }
    },
    links: async () => [...links].map(info),
    routes: async (options) =>
      [...routes.values()].filter(
        (route) => options?.protocol === undefined || route.protocol === String(options.protocol),
      ),
    watch: (changed, signal) => {
      watchers.add(changed);
      signal.addEventListener('abort', () => watchers.delete(changed), { once: true });
    },
    disturb: (changes) => {
      for (const change of changes) applyOne(change);
      for (const changed of watchers) changed();
    },
  };
}
