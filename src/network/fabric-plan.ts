// What the fabric of a one-machine cluster should be, and the changes from what is there: pure.
import { cidrContains, formatIp, ipAt, parseCidr, parseIp, sizeOfCidr } from '../base/ip.ts';
import type { LinkChange, LinkInfo } from '../os/links.ts';
import { hardwareAddressOf } from './hardware-address.ts';
import { shortHash } from './interface-name.ts';
import { connectedRoute } from './uplink.ts';

export interface FabricNode {
  readonly name: string;
  /** Name of the node's network namespace. */
  readonly netns: string;
  readonly address: string;
  /** The end of its cable on the bridge. */
  readonly port: string;
}

export interface FabricPlan {
  readonly clusterName: string;
  readonly bridge: string;
  readonly subnet: string;
  /** The machine's own address on the fabric: where API server and DNS listen. */
  readonly gateway: string;
  readonly nodes: readonly FabricNode[];
}

/** As for a label value: it becomes part of names of namespaces, tables and interfaces. */
const namePattern = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

export function checkFabricName(what: string, name: string): void {
  if (!namePattern.test(name) || name.includes('..'))
    throw new Error(`${what} ${JSON.stringify(name)} must match ${namePattern.source}`);
}

export const bridgeName = (clusterName: string): string => `phb-${shortHash(clusterName)}`;
export const nodeNetns = (clusterName: string, node: string): string => `ph-${clusterName}-${node}`;
export const fabricPortName = (clusterName: string, node: string): string =>
  `phn-${shortHash(`${clusterName}/${node}`)}`;
export const fabricTable = (clusterName: string): string => `porthole-${clusterName}`;

export interface PlanFabric {
  readonly clusterName: string;
  readonly nodeNames: readonly string[];
  readonly subnet: string;
  /** Addresses that nodes have already, by node name. */
  readonly addresses: ReadonlyMap<string, string>;
}

/** Nodes keep the address they have; new ones take the lowest free one. */
export function planFabric(input: PlanFabric): FabricPlan {
  const cidr = parseCidr(input.subnet)!;
  const gateway = formatIp(ipAt(cidr, 1)!);
  const kept = new Map<string, string>();
  for (const name of input.nodeNames) {
    const address = input.addresses.get(name);
    const ip = parseIp(address ?? '');
    if (address === undefined || ip === undefined || !cidrContains(cidr, ip) || address === gateway) continue;
    if (![...kept.values()].includes(address)) kept.set(name, address);
  }
  const taken = new Set(kept.values());
  const free = (): string => {
    for (let next = 2; next < sizeOfCidr(cidr) - 1n; next++) {
      const address = formatIp(ipAt(cidr, next)!);
      if (taken.has(address)) continue;
      taken.add(address);
      return address;
    }
    throw new Error(`${input.subnet} is full`);
  };
  return {
    clusterName: input.clusterName,
    bridge: bridgeName(input.clusterName),
    subnet: input.subnet,
    gateway,
    nodes: input.nodeNames.map((name) => ({
      name,
      netns: nodeNetns(input.clusterName, name),
      address: kept.get(name) ?? free(),
      port: fabricPortName(input.clusterName, name),
    })),
  };
}

const lengthOf = (subnet: string): string => subnet.slice(subnet.indexOf('/'));

/** Changes in the machine's own namespace. `whole` are the nodes whose cable is there with both ends. */
export function hostChanges(
  plan: FabricPlan,
  links: readonly LinkInfo[],
  whole: ReadonlySet<string>,
): LinkChange[] {
  const byName = new Map(links.map((link) => [link.name, link]));
  const gateway = `${plan.gateway}${lengthOf(plan.subnet)}`;
  const changes: LinkChange[] = [];
  const mac = hardwareAddressOf(plan.gateway);
  if (!byName.has(plan.bridge)) changes.push({ do: 'addBridge', name: plan.bridge, mac });
  for (const address of byName.get(plan.bridge)?.addresses ?? [])
    if (address !== gateway) changes.push({ do: 'deleteAddress', name: plan.bridge, address });
  changes.push({ do: 'replaceAddress', name: plan.bridge, address: gateway });
  // without one of its own it has that of a port, which goes with the port
  changes.push({ do: 'setLink', name: plan.bridge, mac, up: true });
  changes.push(connectedRoute({ dev: plan.bridge, address: gateway }));
  for (const node of plan.nodes) {
    if (!whole.has(node.name)) {
      if (byName.has(node.port)) changes.push({ do: 'deleteLink', name: node.port });
      changes.push({ do: 'addVeth', name: node.port, peer: { name: 'eth0', netns: node.netns } });
    }
    changes.push({ do: 'setLink', name: node.port, master: plan.bridge, up: true });
  }
  return changes;
}

/** Changes inside a node's namespace. */
export function nodeChanges(plan: FabricPlan, node: FabricNode, links: readonly LinkInfo[]): LinkChange[] {
  const own = `${node.address}${lengthOf(plan.subnet)}`;
  const stale = (links.find((link) => link.name === 'eth0')?.addresses ?? []).filter((a) => a !== own);
  return [
    { do: 'setLink', name: 'lo', up: true },
    ...stale.map((address): LinkChange => ({ do: 'deleteAddress', name: 'eth0', address })),
    { do: 'replaceAddress', name: 'eth0', address: own },
    // the one that its cable's guard lets through
    { do: 'setLink', name: 'eth0', mac: hardwareAddressOf(node.address), up: true },
    connectedRoute({ dev: 'eth0', address: own }),
    { do: 'replaceRoute', to: 'default', via: plan.gateway, dev: 'eth0' },
  ];
}

/** Of the machine, for whom a node's way out leads over its bridge. */
export const machineSettings = (bridge: string): Readonly<Record<string, string>> => ({
  'net/ipv4/ip_forward': '1',
  [`net/ipv4/conf/${bridge}/send_redirects`]: '0',
  [`net/ipv4/conf/${bridge}/rp_filter`]: '1',
});

/** Settings of a network namespace that forwards for pods; see also `ip-sysctl.txt` of the kernel. */
export const forwardingSettings: Readonly<Record<string, string>> = {
  'net/ipv4/ip_forward': '1',
  'net/ipv4/conf/all/send_redirects': '0',
  'net/ipv4/conf/default/send_redirects': '0',
  // who sends with an address that would not be answered over the same interface is not heard
  'net/ipv4/conf/all/rp_filter': '1',
  'net/ipv4/conf/default/rp_filter': '1',
  // the cluster has no IPv6 yet: link-local addresses would be a way around its rules
  'net/ipv6/conf/default/disable_ipv6': '1',
  'net/bridge/bridge-nf-call-iptables': '0',
};

/** What of the machine the nodes and pods of a cluster reach. */
export interface MachineAccess {
  /** On the machine's address on the fabric: API server and DNS. */
  readonly ports: readonly { readonly protocol: 'tcp' | 'udp'; readonly port: number }[];
  /** All that listens on this machine, and all that it forwards elsewhere. */
  readonly everything: boolean;
}

/**
 * The machine's rules. Nodes reach the outside by the machine's address, of the machine itself what is meant for them, and no
 * other cluster; nobody but the machine reaches nodes, pods and the machine's address on the fabric.
 */
export function renderFabricTable(plan: FabricPlan, access: MachineAccess, forwardingBefore: string): string {
  const name = fabricTable(plan.clusterName);
  const open = access.ports.map(({ protocol, port }) => `${protocol} . ${port}`);
  return `add table ip ${name}
delete table ip ${name}
table ip ${name} {
  comment "ip_forward was ${forwardingBefore === '0' ? '0' : '1'}"
  set open { type inet_proto . inet_service
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${plan.subnet} oifname != "${plan.bridge}" masquerade
  }
  chain input {
    type filter hook input priority filter; policy accept;
    ip daddr ${plan.gateway} iifname != { "${plan.bridge}", "lo" } drop
    iifname "${plan.bridge}" jump fromnodes
  }
  chain fromnodes {
    ct state established,related accept
    ip daddr ${plan.gateway} meta l4proto . th dport @open accept
    ip daddr ${plan.gateway} icmp type echo-request accept
    ${access.everything ? 'accept' : 'counter reject with icmp type admin-prohibited'}
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${plan.bridge}" oifname "${plan.bridge}" accept
    ct state established,related accept
    oifname "${plan.bridge}" ct status dnat accept
    oifname "${plan.bridge}" counter drop
    iifname "${plan.bridge}" jump outward
  }
  chain outward {
    oifname "phb-*" counter drop
    ${access.everything ? 'accept' : 'ip daddr 169.254.0.0/16 counter drop\n    ct status dnat counter drop'}
  }
}
${open.length === 0 ? '' : `add element ip ${name} open { ${open.join(', ')} }\n`}`;
}
