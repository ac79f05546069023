// How a node's kubelet is reached: its internal address, its port, and the API server's client certificate.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { num, obj, objs, status, str } from '../../apimachinery/json-access.ts';
import type { KubeletConnection } from './pod-location.ts';

export interface KubeletCredentials {
  readonly ca: string | Buffer;
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

const preferred: readonly string[] = ['InternalIP', 'ExternalIP', 'Hostname'];
const standardPort = 10_250;

/** The credentials as they are now: they are renewed while the server runs. */
export function kubeletConnection(credentials: () => KubeletCredentials): KubeletConnection {
  return (node: JsonObject) => {
    const addresses = objs(status(node)['addresses']);
    const found = preferred
      .map((type) => addresses.find((a) => a['type'] === type))
      .find((a) => a !== undefined);
    const name = str(obj(node['metadata'])['name']);
    const port = num(obj(obj(status(node)['daemonEndpoints'])['kubeletEndpoint'])['Port']);
    return {
      host: found ? str(found['address']) : name,
      port: port > 0 ? port : standardPort,
      tls: { ...credentials(), verify: true },
    };
  };
}
