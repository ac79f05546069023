// Host ports of pods as nftables maps of one table: pure text.

import { parseIp } from '../../base/ip.ts';
import type { Attachment } from './attachments.ts';

export const hostPortTable = 'ip porthole-hostports';

interface Elements {
  readonly any: readonly string[];
  readonly bound: readonly string[];
  readonly hairpin: readonly string[];
}

const keyOf = (protocol: string, hostPort: number): string => `${protocol} . ${hostPort}`;

function elementsOf(attachment: Attachment): Elements {
  const any: string[] = [];
  const bound: string[] = [];
  for (const { protocol, hostPort, containerPort, hostIP } of attachment.portMappings) {
    const value = `${attachment.podIP} . ${containerPort}`;
    if (hostIP === undefined || hostIP === '0.0.0.0') any.push(`${keyOf(protocol, hostPort)} : ${value}`);
    else if (parseIp(hostIP)?.family === 4) bound.push(`${hostIP} . ${keyOf(protocol, hostPort)} : ${value}`);
  }
  const hairpin = any.length + bound.length > 0 ? [`${attachment.podIP} . ${attachment.podIP}`] : [];
  return { any, bound, hairpin };
}

const list = (verb: string, map: string, elements: readonly string[]): string =>
  elements.length === 0 ? '' : `${verb} element ${hostPortTable} ${map} { ${elements.join(', ')} }\n`;

export function renderAddPortMappings(attachment: Attachment): string {
  const elements = elementsOf(attachment);
  return (
    list('add', 'any', elements.any) +
    list('add', 'bound', elements.bound) +
    list('add', 'hairpin', elements.hairpin)
  );
}

/** Keys alone: an element is deleted whatever its value. */
export function renderDeletePortMappings(attachment: Attachment): string {
  const elements = elementsOf(attachment);
  const keys = (entries: readonly string[]): string[] =>
    entries.map((entry) => entry.slice(0, entry.indexOf(' : ')));
  return (
    list('delete', 'any', keys(elements.any)) +
    list('delete', 'bound', keys(elements.bound)) +
    list('delete', 'hairpin', elements.hairpin)
  );
}

/** The whole table anew, in one transaction. */
export function renderHostPortTable(attachments: readonly Attachment[]): string {
  return `add table ${hostPortTable}
delete table ${hostPortTable}
table ${hostPortTable} {
  map any { type inet_proto . inet_service : ipv4_addr . inet_service
  }
  map bound { type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service
  }
  set hairpin { type ipv4_addr . ipv4_addr
  }
  chain hostports {
    # the kubelet's, which no pod takes from the API server
    tcp dport 10250 return
    dnat ip to ip daddr . meta l4proto . th dport map @bound
    dnat ip to meta l4proto . th dport map @any
  }
  chain prerouting { type nat hook prerouting priority dstnat - 5; policy accept
    fib daddr type local jump hostports
  }
  chain output { type nat hook output priority -105; policy accept
    fib daddr type local ip daddr != 127.0.0.0/8 jump hostports
  }
  chain postrouting { type nat hook postrouting priority srcnat - 5; policy accept
    ip saddr . ip daddr @hairpin ct status dnat masquerade
  }
}
${attachments.map(renderAddPortMappings).join('')}`;
}
