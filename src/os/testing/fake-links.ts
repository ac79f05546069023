// Links in memory, with what of the kernel's behaviour callers rely on.
import { formatIpv4Cidr, ipv4CidrContains, parseIpv4, parseIpv4Cidr } from '../../base/ipv4.ts';
import {
  type LinkChange,
  type LinkInfo,
  type Links,
  LinksError,
  type RouteChange,
  type RouteInfo,
} from '../links.ts';
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

const isConnected = (routes: ReadonlyMap<string, RouteInfo>, address: string): boolean =>
  [...routes.values()].some(({ to, via, dev }) => {
    const prefix = to.includes('/') ? to : `${to}/32`;
    const subnet = via === undefined && dev !== undefined ? parseIpv4Cidr(prefix) : undefined;
    return subnet !== undefined && ipv4CidrContains(subnet, parseIpv4(address) ?? -1);
  });

/** What the kernel adds by itself to an address. */
function prefixRoutes(change: Extract<LinkChange, { do: 'replaceAddress' }>): RouteInfo[] {
  const subnet = parseIpv4Cidr(change.address);
  if (subnet === undefined || subnet.bits === 32 || change.noPrefixRoute === true) return [];
  return [{ to: formatIpv4Cidr(subnet), dev: change.name, unreachable: false, protocol: '2' }];
}

const routeOf = (change: RouteChange): RouteInfo => ({
  to: change.to,
  ...(change.via === undefined ? {} : { via: change.via }),
  ...(change.dev === undefined ? {} : { dev: change.dev }),
  unreachable: change.unreachable ?? false,
  protocol: String(change.protocol ?? 3),
});

const info = ([name, found]: [string, FakeLink], index: number): LinkInfo => ({
  name,
  index: index + 1,
  mac: found.mac,
  mtu: found.mtu,
  up: found.up,
  ...(found.master === undefined ? {} : { master: found.master }),
  addresses: [...found.addresses],
});

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
        if (addresses.includes(change.address)) return;
        addresses.push(change.address);
        for (const route of prefixRoutes(change)) routes.set(route.to, route);
        return;
      }
      case 'deleteAddress': {
        const found = link(change.name);
        found.addresses = found.addresses.filter((address) => address !== change.address);
        // as the kernel: with the last one all routes go
        if (found.addresses.length === 0) dropRoutesOf(change.name);
        return;
      }
      case 'replaceRoute':
        if (change.via !== undefined && !change.onlink && !isConnected(routes, change.via))
          throw new LinksError('Error: Nexthop has invalid gateway.');
        routes.set(change.to, routeOf(change));
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

  return {
    apply: async (changes, options) => {
      const failed: string[] = [];
      for (const change of changes) {
        try {
          applyOne(change);
        } catch (error) {
          if (options?.keepGoing === undefined) throw error;
          failed.push((error as Error).message);
        }
      }
      if (failed.length > 0 && options?.keepGoing === 'report') throw new LinksError(failed.join('; '));
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
