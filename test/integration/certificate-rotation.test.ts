// Certificates that live for seconds, in a real server and a real agent: all of them rotate, and no request fails.
import assert from 'node:assert/strict';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { configmaps, namespaces, nodes } from '../../src/api/generated/resources.ts';
import { createClient } from '../../src/client/create-client.ts';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { httpTransport } from '../../src/client/transport-http.ts';
import { clusterCidr, serviceCidr } from '../../src/cmd/compose/cluster-addresses.ts';
import { issueClusterCredentials } from '../../src/cmd/compose/cluster-credentials.ts';
import { startAgent } from '../../src/cmd/compose/compose-agent.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { controllersComponent } from '../../src/cmd/compose/server-components.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { certificateFacts } from '../../src/crypto/subject.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const lifeMs = 24_000;
/** Not the server's: a serving certificate is for an address that nobody else has. */
const nodeIp = '127.0.0.2';
/** So many certificates of each kind must have been in use. */
const generations = 3;

test('server, kubelet and client certificates rotate under load without one failed request', async (t) => {
  const opened = new AsyncDisposableStack();
  t.after(() => opened.disposeAsync());
  const scratch = scratchDirectory('rotation');
  opened.defer(() => scratch.remove());
  const serverDir = join(scratch.path, 'server');
  const nodeDir = join(scratch.path, 'node');
  const server = await startServer({
    dataDir: serverDir,
    securePort: 0,
    bindAddress: '127.0.0.1',
    components: [
      controllersComponent({
        clusterCidrs: [clusterCidr],
        clusterSigningMs: lifeMs,
        approveKubeletServing: true,
      }),
    ],
    certificateMs: lifeMs,
    approveKubeletServing: true,
    log: silentLogger,
  });
  opened.defer(() => server.stop());
  await server.ready;
  await issueClusterCredentials({
    clusterName: 'rotation',
    serverDir,
    localUrl: server.url,
    nodeUrl: server.url,
    kubeconfig: join(scratch.path, 'kubeconfig'),
    nodes: [{ name: 'n1', ip: nodeIp, dir: nodeDir }],
    certificateMs: lifeMs,
  });
  const agent = await startAgent(
    {
      kubeconfig: join(nodeDir, 'agent.kubeconfig'),
      nodeName: 'n1',
      nodeIp,
      dataDir: nodeDir,
      os: 'linux',
      windowsBuild: 20348,
      windowsTaint: false,
      runtime: 'simulated',
      topology: 'host-gateway',
      clusterCidr,
      serviceClusterIpRange: serviceCidr,
      clusterDns: '10.96.0.10',
      clusterDomain: 'cluster.local',
      podMaxPids: 4096,
      kubeReserved: '',
      nftablesSyncPeriod: 30_000,
      systemReserved: '',
      port: 0,
      registryConfig: '/nonexistent',
      cacheDir: scratch.path,
      verbose: false,
    },
    { log: silentLogger, metrics: createMetrics() },
  );
  opened.defer(() => agent.stop());

  const adminTls = async () =>
    (await loadKubeconfig(server.adminKubeconfig, (path) => readFile(path))).transport;
  const transport = httpTransport(systemClock, await adminTls());
  opened.defer(() => transport.close());
  const client = createClient(transport);
  const seen = {
    apiserver: new Set<string>(),
    'apiserver-kubelet-client': new Set<string>(),
    'front-proxy-client': new Set<string>(),
    admin: new Set<string>(),
    'kubelet-client': new Set<string>(),
    'kubelet-server': new Set<string>(),
  };
  const done = { kept: 0, fresh: 0, node: 0 };
  const failures: string[] = [];
  let over = false;
  opened.defer(() => {
    over = true;
  });
  const repeat = async (what: keyof typeof done, work: () => Promise<unknown>): Promise<void> => {
    while (!over)
      await work().then(
        () => void done[what]++,
        (error: unknown) => void failures.push(`${what}: ${error}`),
      );
  };
  /** A new connection each time, with the administrator's certificate of now; says who answered. */
  const fresh = async (path: string): Promise<{ readonly serial: string; readonly text: string }> => {
    const tls = await adminTls();
    return new Promise((resolve, reject) => {
      const url = new URL(path, server.url);
      const request = httpsRequest(
        url,
        { ca: tls.ca, cert: tls.cert, key: tls.key, agent: false },
        (response) => {
          const socket = response.socket as import('node:tls').TLSSocket;
          const serial = socket.getPeerCertificate().serialNumber;
          let text = '';
          response.on('data', (part: Buffer) => (text += part.toString()));
          response.on('end', () =>
            response.statusCode === 200
              ? resolve({ serial, text })
              : reject(new Error(`${path}: ${response.statusCode} ${text}`)),
          );
        },
      );
      request.on('error', reject);
      request.end();
    });
  };
  await eventually(async () => {
    const node = await client.get(nodes, { name: 'n1' });
    assert.equal(node.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
  });

  const load = [
    repeat('kept', async () => {
      transport.setTls(await adminTls());
      await client.list(namespaces);
      await client.create(configmaps, { metadata: { generateName: 'load-', namespace: 'default' } });
    }),
    repeat('fresh', async () => void seen.apiserver.add((await fresh('/api/v1/namespaces')).serial)),
    repeat('node', async () => assert.equal((await fresh('/api/v1/nodes/n1/proxy/healthz')).text, 'ok')),
  ];
  const serialOf = (file: string): string => certificateFacts(readFileSync(file, 'utf8')).serialNumber;
  await eventually(
    () => {
      for (const name of ['apiserver-kubelet-client', 'front-proxy-client', 'admin'] as const)
        seen[name].add(serialOf(join(serverDir, `pki/${name}.crt`)));
      for (const name of ['kubelet-client', 'kubelet-server'] as const)
        seen[name].add(serialOf(join(nodeDir, `pki/${name}-current.pem`)));
      const lacking = Object.entries(seen).filter(([, serials]) => serials.size < generations);
      if (failures.length === 0 && lacking.length > 0)
        throw new Error(
          `not yet rotated: ${lacking.map(([name, { size }]) => `${name} ${size}`).join(', ')}`,
        );
    },
    { timeoutMs: 240_000, everyMs: 200 },
  );
  over = true;
  await Promise.all(load);
  assert.deepEqual(failures, []);
  for (const [what, count] of Object.entries(done)) assert.ok(count > 10, `${what}: ${count} requests`);
  // The node is Ready by leases and status that it wrote with its rotated certificate.
  const lease = await client.get(nodes, { name: 'n1' });
  assert.equal(lease.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
  const link = join(nodeDir, 'pki/kubelet-client-current.pem');
  assert.match(realpathSync(link), /kubelet-client-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d-\d+\.pem$/);
  assert.equal(statSync(link).mode & 0o777, 0o600);
});
