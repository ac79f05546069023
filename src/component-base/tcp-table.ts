// The TCP connections of this network namespace whose other end is still there, as Linux lists them.
import { readFile } from 'node:fs/promises';

/** The other end has sent no FIN: ESTABLISHED; SYN_SENT and SYN_RECV; FIN_WAIT1 and FIN_WAIT2, where only ours has. */
const attached: ReadonlySet<string> = new Set(['01', '02', '03', '04', '05']);

export interface Endpoints {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/** An IPv4 address looks the same on a socket of either family. */
export const connectionKey = (ends: Endpoints): string =>
  [
    ends.localAddress.replace(/^::ffff:(?=[0-9.]+$)/, ''),
    ends.localPort,
    ends.remoteAddress.replace(/^::ffff:(?=[0-9.]+$)/, ''),
    ends.remotePort,
  ].join(' ');

const mapped = '0000000000000000FFFF0000';

/** Words of the address as the kernel of a little-endian machine prints them. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex').swap32();
  if (bytes.length === 4) return bytes.join('.');
  if (hex.startsWith(mapped)) return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

const row = /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]{2}) /gm;

/** Keys of the connections in a text of `/proc/net/tcp` or `/proc/net/tcp6`. */
export function attachedConnections(text: string): Set<string> {
  const keys = new Set<string>();
  for (const [, local, localPort, remote, remotePort, state] of text.matchAll(row))
    if (attached.has(state!))
      keys.add(
        connectionKey({
          localAddress: addressOf(local!),
          localPort: Number.parseInt(localPort!, 16),
          remoteAddress: addressOf(remote!),
          remotePort: Number.parseInt(remotePort!, 16),
        }),
      );
  return keys;
}

/** Undefined on a machine without these tables. */
export async function readAttachedConnections(): Promise<ReadonlySet<string> | undefined> {
  try {
    const text = await readFile('/proc/self/net/tcp', 'latin1');
    const text6 = await readFile('/proc/self/net/tcp6', 'latin1').catch(() => ''); // a kernel without IPv6
    return attachedConnections(text + text6);
  } catch {
    return undefined;
  }
}
