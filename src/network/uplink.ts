// How a machine is connected to the others of its cluster: the route to their subnet, and a node's way out. The kernel makes the
// first when the address is given, and nobody again after `ip route flush table main`: no other route works without it. Pure.
import { formatIpv4Cidr, parseIpv4Cidr } from '../base/ipv4.ts';
import type { LinkChange, LinkInfo, RouteInfo } from '../os/links.ts';
import { podIPOfInterface } from './interface-name.ts';
import { portholeRouteProtocol } from './network-plan.ts';

/** As the kernel writes it: rtnetlink(7)'s RTPROT_KERNEL. */
const kernelProtocol = 2;

export interface Uplink {
  /** Of the node: whose interface it is. Undefined: `interface`. */
  readonly address?: string;
  readonly interface?: string;
  /** The way to everywhere else. Undefined: not ours to say. */
  readonly gateway?: string;
}

const hostOf = (address: string): string => address.slice(0, address.indexOf('/'));

/** The route to the subnet of an address with its prefix length. */
export const connectedRoute = ({
  dev,
  address,
}: {
  readonly dev: string;
  readonly address: string;
}): LinkChange => ({
  do: 'replaceRoute',
  to: formatIpv4Cidr(parseIpv4Cidr(address)!),
  dev,
  scope: 'link',
  source: hostOf(address),
  protocol: kernelProtocol,
});

/** What is missing of it, the route to the subnet first. What somebody else put in its place stays. */
export function uplinkChanges(
  links: readonly LinkInfo[],
  routes: readonly RouteInfo[],
  uplink: Uplink,
): LinkChange[] {
  const isIt = (link: LinkInfo): boolean =>
    uplink.interface === undefined
      ? link.addresses.some((address) => hostOf(address) === uplink.address)
      : link.name === uplink.interface;
  const link = links.find(isIt);
  if (link?.up !== true) return [];
  const subnets = link.addresses.filter((address) => (parseIpv4Cidr(address)?.bits ?? 32) < 32);
  const changes = subnets
    .map((address) => connectedRoute({ dev: link.name, address }))
    .filter((change) => !routes.some(({ to }) => change.do === 'replaceRoute' && to === change.to));
  const hasWayOut = uplink.gateway === undefined || routes.some(({ to }) => to === 'default');
  return hasWayOut
    ? changes
    : [...changes, { do: 'replaceRoute', to: 'default', via: uplink.gateway!, dev: link.name }];
}

/** Of the pods on this node, whose interfaces say which they are: those to whom no route leads. */
export function podsWithoutRoute(
  links: readonly LinkInfo[],
  routes: readonly RouteInfo[],
): readonly string[] {
  const led = new Set(routes.map(({ to, dev }) => `${to} ${dev}`));
  return links.flatMap(({ name }) => {
    const ip = podIPOfInterface(name);
    return ip === undefined || led.has(`${ip} ${name}`) ? [] : [name];
  });
}

/** As CNI made it. */
export const podRouteChanges = (name: string): LinkChange[] => [
  { do: 'setLink', name, up: true },
  {
    do: 'replaceRoute',
    to: podIPOfInterface(name)!,
    dev: name,
    scope: 'link',
    protocol: portholeRouteProtocol,
  },
];
