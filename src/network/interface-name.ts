// Short, stable interface names: the kernel allows 15 bytes.
import { formatIp, parseIp } from '../base/ip.ts';

/** 32-bit FNV-1a as 8 hex digits: stable over restarts, no secrets involved. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

const podPrefix = 'ph';

/** The node's end of a pod's cable: an address is handed out once on a node, so is its name. */
export function podInterfaceName(podIP: string): string {
  const ip = parseIp(podIP);
  if (ip?.family !== 4) throw new Error(`${podIP} is not an IPv4 address`);
  return `${podPrefix}${ip.value.toString(16).padStart(8, '0')}`;
}

/** Undefined when the interface is not a pod's. */
export function podIPOfInterface(name: string): string | undefined {
  const match = /^ph([0-9a-f]{8})$/.exec(name);
  return match ? formatIp({ family: 4, value: BigInt(`0x${match[1]}`) }) : undefined;
}
