// From what a machine has to what its plan says, as changes: pure.
import { formatIpv4Cidr, parseIpv4Cidr } from '../base/ipv4.ts';
import type { LinkChange, LinkInfo, RouteInfo } from '../os/links.ts';
import { type Masquerade, type NetworkPlan, portholeRouteProtocol } from './network-plan.ts';

/** `ip` prints host routes without their length. */
const canonical = (prefix: string): string => {
  const cidr = parseIpv4Cidr(prefix.includes('/') ? prefix : `${prefix}/32`);
  return cidr === undefined ? prefix : formatIpv4Cidr(cidr);
};

/** `routes` are those of portholeRouteProtocol; the ones to pods on this node have no next hop and are CNI's. */
export function routeChanges(plan: NetworkPlan, routes: readonly RouteInfo[]): LinkChange[] {
  const ours = routes.filter((route) => route.via !== undefined || route.unreachable);
  const wanted = new Map(plan.routes.map((route) => [canonical(route.to), route.via]));
  const present = new Map(ours.map((route) => [canonical(route.to), route.via]));
  const stale = ours.filter((route) => !wanted.has(canonical(route.to)));
  const missing = plan.routes.filter(
    (route) => !present.has(canonical(route.to)) || present.get(canonical(route.to)) !== route.via,
  );
  return [
    ...stale.map(
      (route): LinkChange => ({
        do: 'deleteRoute',
        to: canonical(route.to),
        ...(route.unreachable ? { unreachable: true } : {}),
        protocol: portholeRouteProtocol,
      }),
    ),
    ...missing.map(
      (route): LinkChange => ({
        do: 'replaceRoute',
        to: canonical(route.to),
        ...(route.via === undefined ? { unreachable: true } : { via: route.via }),
        protocol: portholeRouteProtocol,
      }),
    ),
  ];
}

export function addressChanges(plan: NetworkPlan, links: readonly LinkInfo[]): LinkChange[] {
  return plan.ownAddresses.flatMap(({ bridge, address }): LinkChange[] => {
    const link = links.find((found) => found.name === bridge);
    const stale = (link?.addresses ?? []).filter((found) => found !== address);
    return [
      ...(link === undefined ? [{ do: 'addBridge', name: bridge } as const] : []),
      ...stale.map((found) => ({ do: 'deleteAddress', name: bridge, address: found }) as const),
      ...(link?.addresses.includes(address)
        ? []
        : [{ do: 'replaceAddress', name: bridge, address } as const]),
      ...(link?.up ? [] : [{ do: 'setLink', name: bridge, up: true } as const]),
    ];
  });
}

const table = 'ip porthole-network';

/** The exception list of the facts' OutBoundNAT, for all pods of the node. */
export function renderMasquerade(masquerade: Masquerade | undefined): string {
  const head = `add table ${table}\ndelete table ${table}\n`;
  if (masquerade === undefined) return head;
  return `${head}table ${table} {
  set sources { type ipv4_addr; flags interval; auto-merge; elements = { ${masquerade.sources.join(', ')} }
  }
  set exceptions { type ipv4_addr; flags interval; auto-merge; elements = { ${masquerade.exceptions.join(', ')} }
  }
  chain postrouting { type nat hook postrouting priority srcnat + 5; policy accept
    ip saddr @sources ip daddr != @exceptions masquerade fully-random
  }
}
`;
}
