// The data planes there are, by name.
import type { ProxyBackend } from '../proxy-backend.ts';
import type { BackendOptions } from './backend-options.ts';
import { MemoryBackend } from './memory/memory-backend.ts';
import { NftablesBackend } from './nftables/nftables.ts';

type ProxyBackendName = 'nftables' | 'memory';

export const proxyBackends: Readonly<Record<ProxyBackendName, (options: BackendOptions) => ProxyBackend>> = {
  nftables: (options) => new NftablesBackend(options),
  memory: ({ clusterCIDR }) => new MemoryBackend({ clusterCIDR, addresses: [] }),
};
