// A node's DNS in the packet filter: its flows are not tracked, and those who ask are kept apart. Pure.

export const dnsTable = 'ip porthole-dns';
export const noDnsRules: string = `add table ${dnsTable}\ndelete table ${dnsTable}\n`;

/**
 * Sockets that those who ask over UDP are spread over, by their address. A socket holds some 250 questions, and drops what
 * comes from everybody when it is full: while the agent waits for a processor, a flood fills its own lane, and the others
 * stay open.
 */
export interface DnsLanes {
  /** Of one lane each; none: all ask the one socket. */
  readonly ports: readonly number[];
  /** Nobody can choose whose lane is theirs. */
  readonly seed: number;
}

/** Ports of one lane each, that the registry of ports gives to nobody. */
export const lanePorts: readonly number[] = Array.from({ length: 16 }, (_, i) => 914 + i);

/**
 * Packets to and from the address are not tracked, so that kube-proxy's rules, which are for tracked flows, pass them over: two
 * questions of one socket, sent at once, would race for one entry, and one of them would be lost.
 */
const untracked = (ip: string): string[] =>
  ['daddr', 'saddr'].flatMap((side) =>
    ['udp', 'tcp'].map(
      (protocol) => `ip ${side} ${ip} ${protocol} ${side === 'daddr' ? 'dport' : 'sport'} 53 notrack`,
    ),
  );

/** What one pod may send costs the agent no more than a part of its time. */
const share = 'rate over 20000/second burst 500 packets';

const lines = (rules: readonly string[]): string => rules.map((rule) => `    ${rule}\n`).join('');

export function dnsRules(ip: string, { ports, seed }: DnsLanes): string {
  const asked = `ip daddr ${ip} udp dport 53`;
  const set = `{ ${ports.join(', ')} }`;
  const lanes = ports.map((port, lane) => `${lane} : ${port}`).join(', ');
  const hash = `jhash ip saddr mod ${ports.length} seed 0x${seed.toString(16)}`;
  const apart = ports.length > 1;
  const prerouting = [
    ...(apart ? [`ip daddr ${ip} udp dport ${set} drop`] : []),
    `${asked} update @askers { ip saddr limit ${share} } drop`,
    ...untracked(ip),
    // By a map: the sum of a hash and a first port comes out in the order of the machine's bytes.
    ...(apart ? [`${asked} udp dport set ${hash} map { ${lanes} }`] : []),
  ];
  const output = [
    ...(apart ? [`ip saddr ${ip} udp sport ${set} notrack udp sport set 53`] : []),
    ...untracked(ip),
  ];
  return `${noDnsRules}table ${dnsTable} {
  set askers {
    type ipv4_addr
    flags dynamic
    timeout 10s
    size 65535
  }
  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
${lines(prerouting)}  }
  chain output {
    type filter hook output priority raw; policy accept;
${lines(output)}  }
}
`;
}
