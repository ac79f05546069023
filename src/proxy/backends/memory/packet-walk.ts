// Sends a packet through rules of services in memory: what a node would do with it, without a kernel. Pure.
import { cidrContains, parseCidr, parseIp } from '../../../base/ip.ts';
import { type Frontend, frontendKey, type Protocol, type ServiceRules } from '../../rule-set.ts';

export interface WalkedPacket {
  readonly from: string;
  readonly to: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface WalkerNode {
  readonly clusterCIDR: string;
  readonly addresses: readonly string[];
}

export type Outcome =
  | { readonly kind: 'redirected'; readonly to: readonly string[]; readonly masqueraded: boolean }
  | { readonly kind: 'rejected' | 'dropped' | 'untouched' };

const within = (cidr: string, ip: string): boolean => cidrContains(parseCidr(cidr)!, parseIp(ip)!);

export function frontendFor(
  rules: readonly ServiceRules[],
  packet: WalkedPacket,
  node: WalkerNode,
): Frontend | undefined {
  const { to: ip, protocol, port } = packet;
  const frontends = new Map(rules.flatMap((one) => one.frontends).map((f) => [frontendKey(f), f]));
  const exact = frontends.get(frontendKey({ ip, protocol, port }));
  const isOwn = node.addresses.includes(packet.to) && !packet.to.startsWith('127.');
  return exact ?? (isOwn ? frontends.get(frontendKey({ ip: undefined, protocol, port })) : undefined);
}

export function walk(rules: readonly ServiceRules[], packet: WalkedPacket, node: WalkerNode): Outcome {
  const frontend = frontendFor(rules, packet, node);
  if (frontend === undefined) {
    const isClusterIP = rules.some((one) => one.frontends.some((f) => f.isClusterIP && f.ip === packet.to));
    return { kind: isClusterIP ? 'rejected' : 'untouched' };
  }
  const { allowedSources, backends, insideBackends, source, without } = frontend;
  if (allowedSources !== undefined && !allowedSources.some((cidr) => within(cidr, packet.from)))
    return { kind: 'dropped' };
  const isPod = within(node.clusterCIDR, packet.from);
  const isNode = node.addresses.includes(packet.from);
  const chosen = source === 'local' && (isPod || isNode) ? insideBackends : backends;
  if (chosen.length === 0)
    return { kind: without === 'drop' || insideBackends.length > 0 ? 'dropped' : 'rejected' };
  const hides = { cluster: !isPod, external: true, local: isNode && !isPod }[source];
  const to = chosen.map((backend) => `${backend.ip}:${backend.port}`);
  const hairpin = to.length === 1 && chosen[0]!.ip === packet.from;
  return { kind: 'redirected', to, masqueraded: hides || hairpin };
}
