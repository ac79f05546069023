// From what a machine has to what its plan says, as changes: pure.
import { formatCidr } from '../base/ip.ts';
import type { LinkChange, LinkInfo, RouteInfo } from '../os/links.ts';
import { type Masquerade, type NetworkPlan, portholeRouteProtocol } from './network-plan.ts';
import { routePrefix } from './subnet.ts';

/** `ip` prints host routes without their length. */
const canonical = (prefix: string): string => {
  const cidr = routePrefix(prefix);
  return cidr === undefined ? prefix : formatCidr(cidr);
};

const onInterface = (dev: string | undefined): { dev?: string } => (dev === undefined ? {} : { dev });

/**
 * `routes` are all of the namespace. The agent's own are marked with portholeRouteProtocol and, in a namespace that
 * clusters share, lie on their cluster's interface `dev`; ones without a next hop lead to pods and are CNI's.
 * A prefix that somebody else routes is left to them and becomes a problem.
 */
export function routeChanges(
  plan: NetworkPlan,
  routes: readonly RouteInfo[],
  dev: string | undefined,
): { readonly changes: readonly LinkChange[]; readonly problems: readonly string[] } {
  const isOurs = (route: RouteInfo): boolean =>
    route.protocol === String(portholeRouteProtocol) && (dev === undefined || route.dev === dev);
  const ours = routes.filter(
    (route) => isOurs(route) && (route.via !== undefined || (route.unreachable && dev === undefined)),
  );
  const foreign = new Map(
    routes.filter((route) => !isOurs(route)).map((route) => [canonical(route.to), route]),
  );
  const wanted = new Map(plan.routes.map((route) => [canonical(route.to), route.via]));
  const present = new Map(ours.map((route) => [canonical(route.to), route.via]));
  const stale = ours.filter((route) => !wanted.has(canonical(route.to)));
  const missing = plan.routes.filter(
    (route) => !present.has(canonical(route.to)) || present.get(canonical(route.to)) !== route.via,
  );
  const changes = [
    ...stale.map(
      (route): LinkChange => ({
        do: 'deleteRoute',
        to: canonical(route.to),
        ...(route.unreachable ? { unreachable: true } : onInterface(dev)),
        protocol: portholeRouteProtocol,
      }),
    ),
    ...missing
      .filter((route) => !foreign.has(canonical(route.to)))
      .map(
        (route): LinkChange => ({
          do: 'replaceRoute',
          to: canonical(route.to),
          ...(route.via === undefined ? { unreachable: true } : { via: route.via, ...onInterface(dev) }),
          protocol: portholeRouteProtocol,
        }),
      ),
  ];
  const problems = plan.routes.flatMap((route) => {
    const other = foreign.get(canonical(route.to));
    if (other === undefined) return [];
    const where = other.dev === undefined ? '' : ` on ${other.dev}`;
    return [
      `${canonical(route.to)} is routed by somebody else${where} (protocol ${other.protocol}): its pods cannot be reached from here`,
    ];
  });
  return { changes, problems };
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

export const masqueradeTable = 'ip porthole-network';

/** The exception list of the facts' OutBoundNAT, for all pods of the node. */
export function renderMasquerade(masquerade: Masquerade | undefined): string {
  const head = `add table ${masqueradeTable}\ndelete table ${masqueradeTable}\n`;
  if (masquerade === undefined) return head;
  return `${head}table ${masqueradeTable} {
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
