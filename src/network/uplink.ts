// How a machine is connected to the others of its cluster: its interface, the route to their subnet, and a node's way out. The kernel
// makes the route when the address is given, and nobody again after `ip route flush table main`: no other works without it. Pure.
import { formatCidr, parseCidr } from '../base/ip.ts';
import type { LinkChange, LinkInfo, RouteInfo } from '../os/links.ts';
import { podIPOfInterface } from './interface-name.ts';
import { portholeRouteProtocol } from './network-plan.ts';
import { hasSubnet } from './subnet.ts';

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
  to: formatCidr(parseCidr(address)!),
  dev,
  scope: 'link',
  source: hostOf(address),
  protocol: kernelProtocol,
});

/** Made for the cluster and nobody else's: a node's own namespace, or the cluster's bridge. */
const isOurs = ({ gateway, interface: name }: Uplink): boolean => gateway !== undefined || name !== undefined;

/** `before`: as it was seen last. Who has lost the address by which it is known still has its name. */
export function uplinkOf(
  links: readonly LinkInfo[],
  uplink: Uplink,
  before: LinkInfo | undefined,
): LinkInfo | undefined {
  const byName = (name: string | undefined) => links.find((link) => name !== undefined && link.name === name);
  if (uplink.interface !== undefined) return byName(uplink.interface);
  const byAddress = links.find((link) => link.addresses.some((one) => hostOf(one) === uplink.address));
  return byAddress ?? (isOurs(uplink) ? byName(before?.name) : undefined);
}

/** Interfaces that somebody set down, and addresses that somebody took. With them go their routes, and not back with them. */
function linkChanges(
  links: readonly LinkInfo[],
  uplink: Uplink,
  link: LinkInfo,
  before: LinkInfo | undefined,
): LinkChange[] {
  if (!isOurs(uplink)) return [];
  const isBare = !link.addresses.some((one) => before?.addresses.includes(one));
  const taken = isBare && before?.name === link.name ? before.addresses : [];
  const down = links.filter(
    ({ name, up }) => !up && (name === link.name || (name === 'lo' && uplink.interface === undefined)),
  );
  return [
    ...taken.map((address): LinkChange => ({ do: 'replaceAddress', name: link.name, address })),
    ...down.map(({ name }): LinkChange => ({ do: 'setLink', name, up: true })),
  ];
}

/** What is missing of it, the route to the subnet before what needs it. What somebody else put in its place stays. */
export function uplinkChanges(
  links: readonly LinkInfo[],
  routes: readonly RouteInfo[],
  uplink: Uplink,
  before?: LinkInfo,
): LinkChange[] {
  const link = uplinkOf(links, uplink, before);
  if (link === undefined || !(link.up || isOurs(uplink))) return [];
  const mended = linkChanges(links, uplink, link, before);
  const given = mended.flatMap((change) => (change.do === 'replaceAddress' ? [change.address] : []));
  const subnets = [...link.addresses, ...given].filter((address) => hasSubnet(address));
  const changes = [
    ...mended,
    ...subnets
      .map((address) => connectedRoute({ dev: link.name, address }))
      .filter((change) => !routes.some(({ to }) => change.do === 'replaceRoute' && to === change.to)),
  ];
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
