// How many of the connections that a node keeps track of one pod may have: without a bound a pod fills the kernel's table, and nobody
// on the node begins a connection any more. Pure text for nftables.

export const flowSharesTable = 'inet porthole-flows';

/** What Linux has for 4 GiB of memory or more. */
const usualTableSize = 262_144;
/** A pod's share: 16,384 of the usual table. */
const shareOfTable = 1 / 16;
/**
 * For each new connection the kernel goes through a list of its client's, which takes half a millisecond for 500 of them. So each
 * client has many short lists, and the connection's own numbers say which of them is meant.
 */
const listLength = 64;
const fewestLists = 16;
const mostLists = 4096;

/**
 * Who begins a connection has it on its account; whom it is begun to has not. Before Services are resolved, on each node that it
 * passes. `tableSize`: net.netfilter.nf_conntrack_max.
 */
export function renderFlowShares(clusterCIDR: string, tableSize: number = usualTableSize): string {
  const lists = Math.floor((tableSize * shareOfTable) / listLength);
  const count = Math.min(Math.max(lists, fewestLists), mostLists);
  // The priority of a packet that is forwarded is set after this: until then it holds the number of the list.
  return `add table ${flowSharesTable}
delete table ${flowSharesTable}
table ${flowSharesTable} {
  set shares { typeof ip saddr . meta priority; size 1048576; flags dynamic
  }
  chain prerouting { type filter hook prerouting priority mangle - 5; policy accept
    ct state != new accept
    ip saddr != ${clusterCIDR} accept
    meta priority set jhash ip saddr . ip daddr . th sport . th dport mod ${count} add @shares { ip saddr . meta priority ct count over ${listLength} } counter drop
    meta priority set 0
  }
}
`;
}

/**
 * Keys of the kernel, the first two as kube-proxy sets them: a connection of which nothing is heard is forgotten after a day, and not after
 * five. One that has ended counts to nobody's share and stays for so long: ten thousand a second of one pod fill a table in 26 s otherwise.
 * The price: a server keeps its side for 60 s, and one of many connections to it that gets the same port again begins a second later.
 */
export const flowSettings: Readonly<Record<string, string>> = {
  'net/netfilter/nf_conntrack_tcp_timeout_established': '86400',
  'net/netfilter/nf_conntrack_tcp_timeout_close_wait': '3600',
  'net/netfilter/nf_conntrack_tcp_timeout_time_wait': '10',
};

export const tableSizeKey = 'net/netfilter/nf_conntrack_max';
