// Asks a kubelet what its pods use.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { backendConnections, readTextOf, requestBackend } from '../../wire/backend.ts';
import { isPullBody } from '../../wire/http-message.ts';
import type { KubeletConnection } from '../core/pod-location.ts';

export interface KubeletReader {
  /** What stands at its /metrics/resource. */
  readonly read: (node: JsonObject, signal: AbortSignal) => Promise<string>;
  close(): void;
}

/** Of some five thousand containers; what is beyond it is not read. */
const maxBytes = 2 << 20;

export function kubeletReader(connection: KubeletConnection): KubeletReader {
  const connections = backendConnections();
  return {
    async read(node, signal) {
      const target = await connection(node);
      const { status, body } = await requestBackend(
        { ...target, connections },
        { method: 'GET', path: '/metrics/resource', headers: {}, signal },
      );
      const text = isPullBody(body)
        ? await readTextOf(body, maxBytes)
        : Buffer.concat([body ?? []].flat()).toString();
      // What broke off, or came too late, is no reading.
      signal.throwIfAborted();
      if (status !== 200) throw new Error(`request failed, status: ${JSON.stringify(String(status))}`);
      return text;
    },
    close: () => connections.destroy(),
  };
}
