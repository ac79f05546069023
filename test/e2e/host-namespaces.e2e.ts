// Pods in the node's network, process and ipc namespaces: they start, and have the node's addresses, names and processes.
import assert from 'node:assert/strict';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import { parseResolvConf } from '../../src/kubelet/runtime/dns-config.ts';
import type { TestCluster } from '../harness/cluster.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import {
  limit,
  listManifest,
  podSpec,
  serve,
  startLinuxCluster,
  untilTerm,
} from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
let nodeIP: string;
before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  const pod = (name: string, container: object, spec: object): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: podSpec(container, spec),
  });
  const web = {
    command: serve('from the node', 18080),
    ports: [{ containerPort: 18080 }],
    readinessProbe: { httpGet: { port: 18080 }, periodSeconds: 1 },
    lifecycle: { preStop: { httpGet: { port: 18080, path: '/bye' } } },
  };
  const mapped = {
    command: serve('from a pod', 8080),
    ports: [{ containerPort: 8080, hostPort: 18081 }],
    readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
  };
  await kubectl.apply(
    listManifest(
      pod('on-host', web, { hostNetwork: true }),
      pod('cluster-dns', { command: untilTerm }, { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }),
      pod('sees-all', { command: untilTerm }, { hostPID: true, hostIPC: true }),
      pod('own', { command: untilTerm }, {}),
      pod('mapped', mapped, {}),
    ),
  );
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=60s']);
  const [node] = (
    await kubectl.json<{ items: { status: { addresses: { type: string; address: string }[] } }[] }>([
      'get',
      'nodes',
    ])
  ).items;
  nodeIP = node!.status.addresses.find(({ type }) => type === 'InternalIP')!.address;
}, limit);
after(() => cluster?.down(), limit);

const exec = async (pod: string, ...command: string[]): Promise<string> =>
  (await kubectl.ok(['exec', pod, '--', ...command])).trim();
const namespaceOf = (pod: string, kind: string): Promise<string> =>
  exec(pod, 'readlink', `/proc/self/ns/${kind}`);

test(
  "a hostNetwork pod is Ready with the node's address, host name, hosts file and resolver",
  limit,
  async () => {
    const { status, spec } = await kubectl.json<{
      status: { podIP: string; podIPs: object[]; hostIP: string };
      spec: { containers: { ports: { hostPort: number }[] }[] };
    }>(['get', 'pod', 'on-host']);
    assert.deepEqual([status.podIP, status.hostIP, status.podIPs], [nodeIP, nodeIP, [{ ip: nodeIP }]]);
    assert.equal(spec.containers[0]!.ports[0]!.hostPort, 18080);
    assert.equal(await exec('on-host', 'hostname'), hostname());
    assert.ok((await exec('on-host', 'ip', '-4', 'addr')).includes(`inet ${nodeIP}/`));
    const hosts = await exec('on-host', 'cat', '/etc/hosts');
    assert.equal(
      hosts,
      `# Kubernetes-managed hosts file (host network).\n${readFileSync('/etc/hosts', 'utf8')}`.trim(),
    );
    const own = parseResolvConf(readFileSync('/etc/resolv.conf', 'utf8'));
    const pods = parseResolvConf(await exec('on-host', 'cat', '/etc/resolv.conf'));
    assert.deepEqual(pods.servers, own.servers.slice(0, 3));
    assert.equal(await exec('own', 'wget', '-qO-', `http://${nodeIP}:18080/`), 'from the node');
  },
);

test('ClusterFirstWithHostNet resolves Services in the node’s network', limit, async () => {
  const resolver = parseResolvConf(await exec('cluster-dns', 'cat', '/etc/resolv.conf'));
  assert.deepEqual(resolver.searches.slice(0, 2), ['default.svc.cluster.local', 'svc.cluster.local']);
  assert.match(
    await exec('cluster-dns', 'nslookup', 'kubernetes.default.svc.cluster.local'),
    /Address.*10\.96\.0\.1\b/,
  );
});

test(
  'hostPID and hostIPC are the namespaces of the node, and of no pod that did not ask',
  limit,
  async () => {
    for (const kind of ['pid', 'ipc']) {
      assert.equal(await namespaceOf('sees-all', kind), readlinkSync(`/proc/self/ns/${kind}`), kind);
      assert.notEqual(await namespaceOf('own', kind), readlinkSync(`/proc/self/ns/${kind}`), kind);
      assert.notEqual(await namespaceOf('on-host', kind), readlinkSync(`/proc/self/ns/${kind}`), kind);
    }
    assert.equal(await namespaceOf('on-host', 'uts'), readlinkSync('/proc/self/ns/uts'));
    for (const kind of ['net', 'uts']) {
      assert.notEqual(await namespaceOf('sees-all', kind), await namespaceOf('on-host', kind), kind);
    }
    assert.match(await exec('sees-all', 'ps'), /containerd/);
  },
);

test('a hostPort leads to its pod from other pods and from the node', limit, async () => {
  for (const from of ['own', 'on-host'])
    assert.equal(await exec(from, 'wget', '-qO-', `http://${nodeIP}:18081/`), 'from a pod', from);
});

test('a hostNetwork pod goes, and its port is free for the next one', limit, async () => {
  const manifest = JSON.parse(await kubectl.ok(['get', 'pod', 'on-host', '-o', 'json'])) as {
    spec: { containers: object[] };
  };
  await kubectl.ok(['delete', 'pod', 'on-host', '--timeout=60s']);
  const again = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'again' } };
  await kubectl.apply(
    JSON.stringify({
      ...again,
      spec: { hostNetwork: true, containers: manifest.spec.containers.map(withoutToken) },
    }),
  );
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod/again', '--timeout=60s']);
});

/** The mount of the token is added to each pod anew. */
function withoutToken(container: object): object {
  return { ...container, volumeMounts: [] };
}
