// Public door: a real Kubernetes API inside a test, with simulated Linux and Windows nodes. Nothing is installed, nothing runs.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInformerFactory } from '../client/cache/informer-factory.ts';
import type { Client } from '../client/client.ts';
import { createClient } from '../client/create-client.ts';
import { loadKubeconfig } from '../client/kubeconfig.ts';
import { httpTransport } from '../client/transport-http.ts';
import { clusterCidr, clusterDnsAddress, clusterDomain } from '../cmd/compose/cluster-addresses.ts';
import { startServer } from '../cmd/compose/compose-server.ts';
import { controllersComponent, schedulerComponent } from '../cmd/compose/server-components.ts';
import { startSimulatedNode } from '../cmd/compose/simulated-node.ts';
import { silentLogger } from '../component-base/logger.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { systemRandom } from '../component-base/system-random.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';

export interface TestNode {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  /** Of a Windows node: 17763, 20348 (default), 25398 or 26100. */
  readonly windowsBuild?: number;
}

export interface TestClusterOptions {
  /** Default: one Linux node, `linux-1`. */
  readonly nodes?: readonly TestNode[];
}

export interface TestCluster {
  /** Acts as the administrator. */
  readonly client: Client;
  /** `https://127.0.0.1:port`, for any other client. */
  readonly url: string;
  /** Path of the administrator's kubeconfig; gone after `stop`. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** Starts API server, controllers, scheduler and nodes in this process. Pods of simulated nodes become Running by themselves. */
export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const dataDir = await mkdtemp(join(tmpdir(), 'porthole-testing-'));
  const log = silentLogger;
  const server = await startServer({
    dataDir,
    securePort: 0,
    bindAddress: '127.0.0.1',
    storage: new MemoryStorage(systemClock),
    components: [controllersComponent({ clusterCidrs: [clusterCidr] }), schedulerComponent()],
    log,
  });
  await server.ready;
  const { transport } = await loadKubeconfig(server.adminKubeconfig, (path) => readFile(path));
  const connection = httpTransport(systemClock, transport);
  const client = createClient(connection);
  const nodes = await Promise.all(
    (options.nodes ?? [{ name: 'linux-1', os: 'linux' }]).map((node) => {
      const kubelet = server.controlPlane.clientFor({
        name: `system:node:${node.name}`,
        groups: ['system:nodes', 'system:authenticated'],
      });
      const informers = createInformerFactory({
        client: kubelet,
        clock: systemClock,
        random: systemRandom,
        log,
      });
      return startSimulatedNode({
        ...node,
        client: kubelet,
        informers,
        dataDir: join(dataDir, node.name),
        dns: { server: clusterDnsAddress, domain: clusterDomain },
        log,
      });
    }),
  );
  return {
    client,
    url: server.url,
    kubeconfig: server.adminKubeconfig,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      await connection.close();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
