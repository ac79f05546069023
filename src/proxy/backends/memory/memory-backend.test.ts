// The data plane in memory keeps the contract of all.
import {
  type BackendWorld,
  proxyBackendConformance,
  type Reply,
  type Sender,
} from '../../testing/proxy-backend-conformance.ts';
import { MemoryBackend } from './memory-backend.ts';

const addresses: Readonly<Record<Sender, string>> = {
  pod: '10.244.1.9',
  near: '10.244.1.2',
  node: '172.30.0.2',
  outside: '198.51.100.2',
};

async function open(): Promise<BackendWorld> {
  const backend = new MemoryBackend({ clusterCIDR: '10.244.0.0/16', addresses: [addresses.node] });
  const reply = (from: Sender, to: string, port: number): Reply => {
    const sent = backend.send({ from: addresses[from], to, protocol: 'tcp', port });
    if (sent.kind === 'rejected') return 'refused';
    if (sent.kind !== 'redirected') return 'nothing';
    return { at: sent.to.split(':')[0]!, from: sent.masqueraded ? addresses.node : addresses[from] };
  };
  return {
    backend,
    addresses,
    near: { ip: addresses.near, port: 8080, local: true },
    far: { ip: '10.244.2.2', port: 8080, local: false },
    external: '203.0.113.7',
    ask: async (from, to, port, count = 1) => Array.from({ length: count }, () => reply(from, to, port)),
    another: () => backend, // nothing outlives the process
    lose: async () => backend.lose(),
    look: () => backend.look(),
    close: async () => undefined,
  };
}

proxyBackendConformance('memory', open);
