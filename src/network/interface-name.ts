// Short, stable interface names: the kernel allows 15 bytes.
import { formatIpv4, parseIpv4 } from '../base/ipv4.ts';

/** 32-bit FNV-1a as 8 hex digits: stable over restarts, no secrets involved. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

const podPrefix = 'ph';

/** The node's end of a pod's cable: an address is handed out once on a node, so is its name. */
export function podInterfaceName(podIP: string): string {
  const value = parseIpv4(podIP);
  if (value === undefined) throw new Error(`${podIP} is not an IPv4 address`);
  return `${podPrefix}${value.toString(16).padStart(8, '0')}`;
}

/** Undefined when the interface is not a pod's. */
export function podIPOfInterface(name: string): string | undefined {
  const match = /^ph([0-9a-f]{8})$/.exec(name);
  return match ? formatIpv4(Number.parseInt(match[1]!, 16)) : undefined;
}
