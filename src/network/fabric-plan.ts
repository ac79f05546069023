// What the fabric of a one-machine cluster should be, and the changes from what is there: pure.
import { formatIpv4, ipv4CidrContains, parseIpv4, parseIpv4Cidr } from '../base/ipv4.ts';
import type { LinkChange, LinkInfo } from '../os/links.ts';
import { shortHash } from './interface-name.ts';

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
export const portName = (clusterName: string, node: string): string =>
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
  const cidr = parseIpv4Cidr(input.subnet)!;
  const kept = new Map<string, string>();
  for (const name of input.nodeNames) {
    const address = input.addresses.get(name);
    const value = address === undefined ? undefined : parseIpv4(address);
    if (value === undefined || !ipv4CidrContains(cidr, value) || value === cidr.base + 1) continue;
    if (![...kept.values()].includes(address!)) kept.set(name, address!);
  }
  const taken = new Set(kept.values());
  let next = cidr.base + 2;
  const free = (): string => {
    while (taken.has(formatIpv4(next))) next++;
    const address = formatIpv4(next);
    if (next >= cidr.base + 2 ** (32 - cidr.bits) - 1) throw new Error(`${input.subnet} is full`);
    taken.add(address);
    return address;
  };
  return {
    clusterName: input.clusterName,
    bridge: bridgeName(input.clusterName),
    subnet: input.subnet,
    gateway: formatIpv4(cidr.base + 1),
    nodes: input.nodeNames.map((name) => ({
      name,
      netns: nodeNetns(input.clusterName, name),
      address: kept.get(name) ?? free(),
      port: portName(input.clusterName, name),
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
  if (!byName.has(plan.bridge)) changes.push({ do: 'addBridge', name: plan.bridge });
  for (const address of byName.get(plan.bridge)?.addresses ?? [])
    if (address !== gateway) changes.push({ do: 'deleteAddress', name: plan.bridge, address });
  changes.push({ do: 'replaceAddress', name: plan.bridge, address: gateway });
  changes.push({ do: 'setLink', name: plan.bridge, up: true });
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
    { do: 'setLink', name: 'eth0', up: true },
    { do: 'replaceRoute', to: 'default', via: plan.gateway, dev: 'eth0' },
  ];
}

/** Settings of a network namespace that forwards for pods; see also `ip-sysctl.txt` of the kernel. */
export const forwardingSettings: Readonly<Record<string, string>> = {
  'net/ipv4/ip_forward': '1',
  'net/ipv4/conf/all/send_redirects': '0',
  'net/ipv4/conf/default/send_redirects': '0',
  'net/ipv4/conf/all/rp_filter': '0',
  'net/ipv4/conf/default/rp_filter': '0',
  'net/bridge/bridge-nf-call-iptables': '0',
};

/** The machine's rules: nodes reach the outside by its address, and clusters don't reach each other. */
export function renderFabricTable(plan: FabricPlan, forwardingBefore: string): string {
  const name = fabricTable(plan.clusterName);
  return `add table ip ${name}
delete table ip ${name}
table ip ${name} {
  comment "ip_forward was ${forwardingBefore === '0' ? '0' : '1'}"
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${plan.subnet} oifname != "${plan.bridge}" masquerade
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "phb-*" oifname "phb-*" iifname . oifname != { "${plan.bridge}" . "${plan.bridge}" } iifname "${plan.bridge}" drop
  }
}
`;
}
