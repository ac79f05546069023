// Which frames a node's cable lets onto the bridge, as rules: pure. A node's root writes what it likes into its frames; it is heard
// as itself, as its own pods, and as addresses that Services announce. The rules are at the port's ingress, before the
// bridge: frames to the bridge's own group (01:80:c2:00:00:00 and on) pass by the hooks of family `bridge`, reach the
// machine as the port's and teach the bridge where their sender is.
import { type FabricPlan, fabricPortName, fabricTable } from './fabric-plan.ts';
import { hardwareAddressOf } from './hardware-address.ts';
import type { NetworkNode } from './topology.ts';

export const cableGuardTable = (clusterName: string): string => `netdev ${fabricTable(clusterName)}`;

const elements = (table: string, set: string, of: readonly string[]): string =>
  of.length === 0 ? '' : `add element ${table} ${set} { ${of.join(', ')} }\n`;

/** Whatever of it is there already stays as it is: `pods` and `announced` are the router's. */
export function renderCableGuard(plan: FabricPlan): string {
  const table = cableGuardTable(plan.clusterName);
  const nodes = [plan.gateway, ...plan.nodes.map((node) => node.address)];
  const chains = plan.nodes.map(({ address, port }) => {
    const arp = 'arp htype 1 arp ptype ip arp hlen 6 arp plen 4';
    const rules = [
      `ether saddr != ${hardwareAddressOf(address)} counter drop`,
      `ip saddr ${address} accept`,
      'iifname . ip saddr @pods accept',
      'ip saddr != @nodes ip saddr @announced accept',
      `${arp} arp saddr ether != ${hardwareAddressOf(address)} counter drop`,
      `${arp} arp saddr ip ${address} accept`,
      `${arp} iifname . arp saddr ip @pods accept`,
      `${arp} arp saddr ip != @nodes arp saddr ip @announced accept`,
      'counter drop',
    ];
    return `add chain ${table} ${port} { type filter hook ingress device "${port}" priority filter; policy drop; }
flush chain ${table} ${port}
${rules.map((rule) => `add rule ${table} ${port} ${rule}`).join('\n')}
`;
  });
  return `add table ${table}
add set ${table} nodes { type ipv4_addr; }
flush set ${table} nodes
${elements(table, 'nodes', nodes)}add set ${table} pods { type ifname . ipv4_addr; flags interval; }
add set ${table} announced { type ipv4_addr; }
${chains.join('')}`;
}

/** Accepted and gone again: what a kernel must be able to do for the rules above. */
export const cableGuardProbe = (
  clusterName: string,
): string => `add table ${cableGuardTable(clusterName)}-probe
add set ${cableGuardTable(clusterName)}-probe pods { type ifname . ipv4_addr; flags interval; }
add chain ${cableGuardTable(clusterName)}-probe lo { type filter hook ingress device "lo" priority filter; policy accept; }
delete table ${cableGuardTable(clusterName)}-probe
`;

/** The whole set of pods' prefixes, each on its node's port. */
export function renderPodSources(clusterName: string, nodes: readonly NetworkNode[]): string {
  const table = cableGuardTable(clusterName);
  const pods = nodes
    .filter((node) => node.podCIDR !== undefined)
    .map((node) => `"${fabricPortName(clusterName, node.name)}" . ${node.podCIDR}`);
  return `flush set ${table} pods\n${elements(table, 'pods', pods.sort())}`;
}

/** Of the addresses that Services announce. */
export const announcedSet = (clusterName: string): string => `${cableGuardTable(clusterName)} announced`;
