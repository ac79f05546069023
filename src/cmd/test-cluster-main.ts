// The cluster of porthole/testing as a process: a real API over memory and simulated nodes. Ends with who started it.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInformerFactory } from '../client/cache/informer-factory.ts';
import { silentLogger } from '../component-base/logger.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { systemRandom } from '../component-base/system-random.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { clusterCidr, clusterDnsAddress, clusterDomain } from './compose/cluster-addresses.ts';
import { type RunningServer, startServer } from './compose/compose-server.ts';
import { controllersComponent, schedulerComponent } from './compose/server-components.ts';
import { startSimulatedNode } from './compose/simulated-node.ts';
import { serverWorkers } from './setup/package-root.ts';

export interface TestNode {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  /** Of a Windows node: 17763, 20348 (default), 25398 or 26100. */
  readonly windowsBuild?: number;
}

function startNode(
  { controlPlane }: RunningServer,
  dataDir: string,
  node: TestNode,
): ReturnType<typeof startSimulatedNode> {
  const client = controlPlane.clientFor({
    name: `system:node:${node.name}`,
    groups: ['system:nodes', 'system:authenticated'],
  });
  const log = silentLogger;
  return startSimulatedNode({
    ...node,
    client,
    informers: createInformerFactory({ client, clock: systemClock, random: systemRandom, log }),
    dataDir: join(dataDir, node.name),
    dns: { server: clusterDnsAddress, domain: clusterDomain },
    log,
  });
}

// A terminal tells all that it started: this one ends when its starter has, and takes its folder along.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
process.stdout.on('error', () => {});
const dataDir = await mkdtemp(join(tmpdir(), 'porthole-testing-'));
try {
  const server = await startServer({
    dataDir,
    securePort: 0,
    bindAddress: '127.0.0.1',
    storage: new MemoryStorage(systemClock),
    components: [controllersComponent({ clusterCidrs: [clusterCidr] }), schedulerComponent()],
    log: silentLogger,
    ...serverWorkers(),
  });
  await server.ready;
  const asked = JSON.parse(process.argv[2] ?? '[]') as TestNode[];
  const nodes = await Promise.all(asked.map((node) => startNode(server, dataDir, node)));
  process.stdout.write(`${JSON.stringify({ url: server.url, kubeconfig: server.adminKubeconfig })}\n`);
  // Whoever started this holds the other end, and lets go of it however they end.
  await once(process.stdin.resume(), 'end');
  await Promise.all(nodes.map((node) => node.stop()));
  await server.stop();
} finally {
  await rm(dataDir, { recursive: true, force: true });
}
