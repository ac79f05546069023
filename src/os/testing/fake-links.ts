// Links in memory, with what of the kernel's behaviour callers rely on.
import { cidrContains, formatCidr, parseCidr, parseIp } from '../../base/ip.ts';
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
    if (via !== undefined || dev === undefined) return false;
    const [subnet, ip] = [parseCidr(to), parseIp(address)];
    return to === address || (subnet !== undefined && ip !== undefined && cidrContains(subnet, ip));
  });

/** What the kernel adds by itself to an address. */
function prefixRoutes(change: Extract<LinkChange, { do: 'replaceAddress' }>): RouteInfo[] {
  const subnet = parseCidr(change.address);
  if (subnet === undefined || subnet.first === subnet.last || change.noPrefixRoute === true) return [];
  return [{ to: formatCidr(subnet), dev: change.name, unreachable: false, protocol: '2' }];
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

type PeerOf = (netns: string) => FakeLinks | undefined;
type Change<Do extends LinkChange['do']> = Extract<LinkChange, { do: Do }>;

class LinksInMemory implements FakeLinks {
  readonly #peerOf: PeerOf;
  readonly #links = new Map<string, FakeLink>([
    ['lo', { mac: '00:00:00:00:00:00', mtu: 65_536, up: false, master: undefined, addresses: [] }],
  ]);
  readonly #routes = new Map<string, RouteInfo>();
  readonly #watchers = new Set<() => void>();

  constructor(peerOf: PeerOf) {
    this.#peerOf = peerOf;
  }

  async apply(changes: readonly LinkChange[], options?: Parameters<Links['apply']>[1]): Promise<void> {
    const failed: string[] = [];
    for (const change of changes) {
      try {
        this.#applyOne(change);
      } catch (error) {
        if (options?.keepGoing === undefined) throw error;
        failed.push((error as Error).message);
      }
    }
    if (failed.length > 0 && options?.keepGoing === 'report') throw new LinksError(failed.join('; '));
  }

  async links(): Promise<readonly LinkInfo[]> {
    return [...this.#links].map(info);
  }

  async routes(options?: Parameters<Links['routes']>[0]): Promise<readonly RouteInfo[]> {
    return [...this.#routes.values()].filter(
      (route) => options?.protocol === undefined || route.protocol === String(options.protocol),
    );
  }

  watch(changed: () => void, signal: AbortSignal): void {
    this.#watchers.add(changed);
    signal.addEventListener('abort', () => this.#watchers.delete(changed), { once: true });
  }

  disturb(changes: readonly LinkChange[]): void {
    for (const change of changes) this.#applyOne(change);
    for (const changed of this.#watchers) changed();
  }

  #applyOne(change: LinkChange): void {
    renderLinkChange(change); // refuses what the real one refuses
    switch (change.do) {
      case 'addBridge':
        this.#add(change.name, change.mac);
        return;
      case 'addVeth':
        this.#addVeth(change);
        return;
      case 'deleteLink':
        this.#link(change.name);
        this.#links.delete(change.name);
        this.#dropRoutesOf(change.name);
        return;
      case 'setLink':
        this.#setLink(change);
        return;
      case 'replaceAddress':
        this.#replaceAddress(change);
        return;
      case 'deleteAddress':
        this.#deleteAddress(change);
        return;
      case 'replaceRoute':
        if (change.via !== undefined && !change.onlink && !isConnected(this.#routes, change.via))
          throw new LinksError('Error: Nexthop has invalid gateway.');
        this.#routes.set(change.to, routeOf(change));
        return;
      case 'deleteRoute':
        if (change.dev !== undefined && this.#routes.get(change.to)?.dev !== change.dev)
          throw new LinksError('RTNETLINK answers: No such process');
        if (!this.#routes.delete(change.to)) throw new LinksError('RTNETLINK answers: No such process');
        return;
      case 'replaceNeighbour':
        this.#link(change.dev);
    }
  }

  #link(name: string): FakeLink {
    const found = this.#links.get(name);
    if (found === undefined) throw new LinksError(`Cannot find device "${name}"`);
    return found;
  }

  #add(name: string, mac = '02:00:00:00:00:01', mtu = 1500): void {
    if (this.#links.has(name)) throw new LinksError('RTNETLINK answers: File exists');
    this.#links.set(name, { mac, mtu, up: false, master: undefined, addresses: [] });
  }

  #addVeth(change: Change<'addVeth'>): void {
    this.#add(change.name, change.mac, change.mtu);
    const { netns, ...peer } = change.peer;
    if (netns === undefined) this.#add(peer.name, peer.mac, peer.mtu);
    else this.#peerOf(netns)?.disturb([{ do: 'addBridge', name: peer.name }]);
  }

  #setLink(change: Change<'setLink'>): void {
    const found = this.#link(change.name);
    found.up = change.up ?? found.up;
    found.master = change.master ?? found.master;
    found.mac = change.mac ?? found.mac;
    found.mtu = change.mtu ?? found.mtu;
    // as the kernel: routes do not come back with the link
    if (change.up === false) this.#dropRoutesOf(change.name);
  }

  #replaceAddress(change: Change<'replaceAddress'>): void {
    const { addresses } = this.#link(change.name);
    if (addresses.includes(change.address)) return;
    addresses.push(change.address);
    for (const route of prefixRoutes(change)) this.#routes.set(route.to, route);
  }

  #deleteAddress(change: Change<'deleteAddress'>): void {
    const found = this.#link(change.name);
    found.addresses = found.addresses.filter((address) => address !== change.address);
    // as the kernel: with the last one all routes go
    if (found.addresses.length === 0) this.#dropRoutesOf(change.name);
  }

  #dropRoutesOf(dev: string): void {
    for (const [to, route] of this.#routes) if (route.dev === dev) this.#routes.delete(to);
  }
}

/** `peerOf` finds the other namespace of a veth; without it peers with a namespace are only recorded. */
export function createFakeLinks(peerOf: PeerOf = () => undefined): FakeLinks {
  return new LinksInMemory(peerOf);
}
