// Makes and removes the network of a one-machine cluster: a bridge, and a namespace with a cable for each node.
import { formatCidr, parseCidr } from '../base/ip.ts';
import type { Files } from '../os/files.ts';
import type { LinkInfo } from '../os/links.ts';
import type { NetworkHost } from '../os/network-host.ts';
import { cableGuardTable } from './cable-guard.ts';
import {
  bridgeName,
  checkFabricName,
  type FabricPlan,
  fabricPortName,
  fabricTable,
  forwardingSettings,
  hostChanges,
  type MachineAccess,
  machineSettings,
  nodeChanges,
  nodeNetns,
  planFabric,
  renderFabricTable,
} from './fabric-plan.ts';
import { guardCables } from './guard-cables.ts';
import { freeSubnet } from './subnet.ts';

/** Of the machine; see os/linux/network-host-linux. */
export interface FabricPorts extends NetworkHost {
  readonly files: Files;
}

export interface FabricOptions {
  readonly clusterName: string;
  /** With the address that a node had before, which it gets again if it can. */
  readonly nodes: readonly { readonly name: string; readonly address?: string | undefined }[];
  /** Where the /24 of the fabric is taken from. Default 172.30.0.0/16. */
  readonly pool?: string;
  /** Default: nothing of the machine but its answer to a ping. */
  readonly access?: MachineAccess;
  /** Prefixes to keep clear of besides those of the machine: pod and service CIDRs. */
  readonly avoid?: readonly string[];
}

export interface Fabric {
  readonly bridge: string;
  readonly subnet: string;
  /** The machine's address on the fabric: API server and DNS listen here. */
  readonly gateway: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly netns: string;
    /** For `nsenter --net=`. */
    readonly netnsPath: string;
    readonly address: string;
  }[];
  /** What this machine's kernel can't hold, as a sentence each. */
  readonly warnings: readonly string[];
}

const subnetLength = 24;

function subnetOf(bridge: LinkInfo | undefined): string | undefined {
  const cidr = parseCidr(bridge?.addresses[0] ?? '');
  return cidr?.bits === subnetLength ? formatCidr(cidr) : undefined;
}

async function chooseSubnet(
  ports: FabricPorts,
  options: FabricOptions,
  links: readonly LinkInfo[],
): Promise<string> {
  const bridge = bridgeName(options.clusterName);
  const present = subnetOf(links.find((link) => link.name === bridge));
  if (present !== undefined) return present;
  const pool = options.pool ?? '172.30.0.0/16';
  const used = [
    ...links.flatMap((link) => link.addresses),
    ...(await ports.links.routes()).map((route) => route.to),
    ...(options.avoid ?? []),
  ];
  const address = options.nodes.find((node) => node.address !== undefined)?.address;
  const before = address === undefined ? undefined : formatCidr(parseCidr(`${address}/${subnetLength}`)!);
  const subnet =
    (before === undefined ? undefined : freeSubnet(before, subnetLength, used)) ??
    freeSubnet(pool, subnetLength, used);
  if (subnet === undefined) throw new Error(`no free /${subnetLength} is left in ${pool}`);
  return subnet;
}

/** The machine's address on the fabric that would be made of these: nothing is. */
export async function gatewayAhead(ports: FabricPorts, options: FabricOptions): Promise<string> {
  const { clusterName } = options;
  checkFabricName('cluster name', clusterName);
  const subnet = await chooseSubnet(ports, options, await ports.links.links());
  return planFabric({ clusterName, nodeNames: [], subnet, addresses: new Map() }).gateway;
}

/** What `ip_forward` was before the first cluster came, as the clusters' tables remember it. */
async function forwardingBefore(ports: FabricPorts, clusterName: string): Promise<string> {
  const own = `ip ${fabricTable(clusterName)}`;
  const others = (await ports.packetFilter.tables()).filter(
    (name) => name.startsWith('ip porthole-') && name !== own,
  );
  for (const name of [own, ...others]) {
    const text = await ports.packetFilter.table(name);
    const remembered = /comment "ip_forward was ([01])"/.exec(text ?? '')?.[1];
    if (remembered !== undefined) return remembered;
  }
  return (await ports.sysctl.get('net/ipv4/ip_forward')) ?? '0';
}

async function linksInside(
  ports: FabricPorts,
  clusterName: string,
  names: readonly string[],
): Promise<Map<string, readonly LinkInfo[]>> {
  const there = new Set(await ports.namespaces.list());
  const found = await Promise.all(
    names.map(async (name): Promise<[string, readonly LinkInfo[]]> => {
      const netns = nodeNetns(clusterName, name);
      if (!there.has(netns)) return [name, []];
      return [name, await ports.inside(ports.namespaces.path(netns)).links.links()];
    }),
  );
  return new Map(found);
}

const hostSettings = ({ bridge, nodes }: FabricPlan): Record<string, string> => ({
  ...machineSettings(bridge),
  // the packet filter's rules are for IPv4; on the bridge and its ports there is nothing else
  ...Object.fromEntries(
    [bridge, ...nodes.map((node) => node.port)].map((name) => [`net/ipv6/conf/${name}/disable_ipv6`, '1']),
  ),
});

async function applyPlan(
  ports: FabricPorts,
  plan: FabricPlan,
  access: MachineAccess,
  links: readonly LinkInfo[],
  inside: Map<string, readonly LinkInfo[]>,
): Promise<readonly string[]> {
  const present = new Set(links.map((link) => link.name));
  const whole = plan.nodes.filter(
    (node) => present.has(node.port) && inside.get(node.name)?.some((link) => link.name === 'eth0'),
  );
  const before = await forwardingBefore(ports, plan.clusterName);
  await ports.namespaces.create(plan.nodes.map((node) => node.netns));
  await ports.links.apply(hostChanges(plan, links, new Set(whole.map((node) => node.name))));
  // First: it remembers what forwarding was, also for who finds the rest half done.
  await ports.packetFilter.apply(renderFabricTable(plan, access, before));
  const warnings = await guardCables(ports.packetFilter, plan);
  await Promise.all([
    ports.sysctl.set(hostSettings(plan)),
    ...plan.nodes.map(async (node) => {
      const own = ports.inside(ports.namespaces.path(node.netns));
      await Promise.all([
        own.sysctl.set({ ...forwardingSettings, 'net/ipv6/conf/eth0/disable_ipv6': '1' }),
        own.links.apply(nodeChanges(plan, node, inside.get(node.name) ?? [])),
      ]);
    }),
  ]);
  return warnings;
}

/** Idempotent: what is there already is kept, what is half there is completed. */
export async function createFabric(ports: FabricPorts, options: FabricOptions): Promise<Fabric> {
  checkFabricName('cluster name', options.clusterName);
  for (const node of options.nodes) checkFabricName('node name', node.name);
  const nodeNames = [...new Set(options.nodes.map((node) => node.name))];
  const [links, inside] = await Promise.all([
    ports.links.links(),
    linksInside(ports, options.clusterName, nodeNames),
  ]);
  const addresses = new Map(
    options.nodes.flatMap(({ name, address }) => (address === undefined ? [] : [[name, address] as const])),
  );
  for (const [name, found] of inside) {
    const address = found.find((link) => link.name === 'eth0')?.addresses[0];
    if (address !== undefined) addresses.set(name, address.slice(0, address.indexOf('/')));
  }
  const subnet = await chooseSubnet(ports, options, links);
  const plan = planFabric({ clusterName: options.clusterName, nodeNames, subnet, addresses });
  const access = options.access ?? { ports: [], everything: false };
  const warnings = await applyPlan(ports, plan, access, links, inside);
  return {
    bridge: plan.bridge,
    subnet,
    gateway: plan.gateway,
    nodes: plan.nodes.map((node) => ({
      name: node.name,
      netns: node.netns,
      netnsPath: ports.namespaces.path(node.netns),
      address: node.address,
    })),
    warnings,
  };
}

/** Cables and namespaces of these nodes; names are exact. */
export async function removeFabricNodes(
  ports: FabricPorts,
  clusterName: string,
  names: readonly string[],
): Promise<void> {
  const there = (await ports.links.links()).map((link) => link.name);
  const cables = names.map((name) => fabricPortName(clusterName, name));
  // a namespace can outlive its name while a process is in it: its cable must not
  await ports.links.apply(
    cables.filter((name) => there.includes(name)).map((name) => ({ do: 'deleteLink', name })),
    { keepGoing: 'silently' },
  );
  const namespaces = names.map((name) => nodeNetns(clusterName, name));
  await ports.namespaces.delete(namespaces);
  for (const name of namespaces) await ports.files.remove(`/etc/netns/${name}`);
}

/** Leaves nothing of the cluster's network; what is gone already is fine. Names are exact: cluster `a` never touches `a-b`. */
export async function destroyFabric(
  ports: FabricPorts,
  options: { readonly clusterName: string; readonly nodes: readonly { readonly name: string }[] },
): Promise<void> {
  const { clusterName } = options;
  checkFabricName('cluster name', clusterName);
  const bridge = bridgeName(clusterName);
  const names = options.nodes.map((node) => node.name);
  const before = await forwardingBefore(ports, clusterName);
  const tables = await ports.packetFilter.tables();
  const table = `ip ${fabricTable(clusterName)}`;
  await removeFabricNodes(ports, clusterName, names);
  if ((await ports.links.links()).some((link) => link.name === bridge))
    await ports.links.apply([{ do: 'deleteLink', name: bridge }], { keepGoing: 'silently' });
  for (const own of [cableGuardTable(clusterName), table])
    if (tables.includes(own)) await ports.packetFilter.apply(`delete table ${own}`);
  const others = tables.some((name) => name.startsWith('ip porthole-') && name !== table);
  if (before === '0' && tables.includes(table) && !others)
    await ports.sysctl.set({ 'net/ipv4/ip_forward': '0' });
}
