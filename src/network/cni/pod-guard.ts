// A pod speaks only as itself: what comes out of its cable with another address or hardware address, or in another
// protocol than IPv4 and ARP, is dropped before anything looks at it. Pure text for nftables.
import type { Attachment } from './attachments.ts';

/** One family sees ARP, the other the rest. */
export const podGuardTables = ['inet porthole-pods', 'arp porthole-pods'] as const;

interface Guarded extends Pick<Attachment, 'podIP' | 'hostInterface'> {
  readonly mac: string;
}

const element = ({ podIP, hostInterface, mac }: Guarded): string => `"${hostInterface}" . ${mac} . ${podIP}`;

const change = (verb: 'add' | 'delete', pod: Guarded): string =>
  podGuardTables.map((table) => `${verb} element ${table} pods { ${element(pod)} }\n`).join('');

export const renderGuardPod = (pod: Guarded): string => change('add', pod);
export const renderUnguardPod = (pod: Guarded): string => change('delete', pod);

/** Both tables anew, in one transaction. Before connection tracking: what is dropped leaves no trace there. */
export function renderPodGuard(pods: readonly Guarded[]): string {
  const set = `set pods { type ifname . ether_addr . ipv4_addr
  }`;
  const [all, arp] = podGuardTables;
  return `${podGuardTables.map((table) => `add table ${table}\ndelete table ${table}\n`).join('')}table ${all} {
  ${set}
  chain prerouting { type filter hook prerouting priority raw - 10; policy accept
    iifname "ph*" iifname . ether saddr . ip saddr @pods accept
    iifname "ph*" counter drop
  }
}
table ${arp} {
  ${set}
  chain input { type filter hook input priority filter; policy accept
    iifname "ph*" iifname . arp saddr ether . arp saddr ip @pods accept
    iifname "ph*" counter drop
  }
}
${pods.map(renderGuardPod).join('')}`;
}
