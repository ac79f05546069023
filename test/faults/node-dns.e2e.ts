// DNS comes from the node's own agent: no question of a pair is lost on a busy machine, and names resolve without the server.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { isAlive } from '../../src/cmd/cluster/own-processes.ts';
import {
  readSupervision,
  readSupervisorState,
  type SupervisedProcess,
  type SupervisedState,
  supervisedState,
  writeSupervision,
} from '../../src/cmd/supervisor/supervision.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { withArgument } from '../harness/command-lines.ts';
import { eventually } from '../harness/eventually.ts';
import { joinCgroupsOf } from '../harness/join-cgroups.ts';
import { limit, podManifest, startLinuxCluster } from '../harness/linux-cluster.ts';

const program = fileURLToPath(new URL('../harness/dns-pairs.mjs', import.meta.url));
const clusterDns = '10.96.0.10';
const service = 'kubernetes.default.svc.cluster.local';
const marker = 'asks-for-names';
const long = { timeout: 240_000 };

interface Pairs {
  readonly pairs: number;
  readonly lost: number;
  readonly withoutAddress: number;
}

let cluster: TestCluster;
/** Of the pod's container. */
let podPid: number;
/** Path of the pod's network namespace. */
let podNetns: string;
let nodeNetns: string;

before(async () => {
  cluster = await startLinuxCluster();
  await cluster.kubectl.apply(
    podManifest('client', {
      command: ['sh', '-c', 'trap "exit 0" TERM; while true; do sleep 600 & wait $!; done', marker],
    }),
  );
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod/client', '--timeout=60s']);
  const [found] = withArgument(marker);
  assert.ok(found);
  podPid = found.pid;
  podNetns = `/proc/${podPid}/ns/net`;
  nodeNetns = readClusterState(clusterPaths(cluster.home, cluster.name))!.nodes[0]!.netns!;
}, long);
after(() => cluster?.down(), limit);

async function askPairs(netns: string, pairs: number): Promise<Pairs> {
  const { code, stdout, stderr } = await linuxProcesses.run(
    'nsenter',
    [`--net=${netns}`, '--', process.execPath, program, clusterDns, String(pairs), service],
    { timeoutMs: 200_000 },
  );
  assert.equal(code, 0, stderr.toString());
  return JSON.parse(stdout.toString()) as Pairs;
}

/** Every processor has more to do than it can while `body` runs. */
async function underLoad<T>(body: () => Promise<T>): Promise<T> {
  const burners = Array.from({ length: availableParallelism() * 2 }, () =>
    linuxProcesses.spawn(process.execPath, ['-e', 'for (;;);']),
  );
  try {
    return await body();
  } finally {
    for (const burner of burners) {
      burner.kill('SIGKILL');
      await burner.exited;
    }
  }
}

const patience = { timeoutMs: 60_000 };
const nodeMetrics = (): Promise<string> =>
  cluster.kubectl.ok(['get', '--raw', '/api/v1/nodes/linux-1/proxy/metrics']);
const counted = async (): Promise<number> =>
  Number(/^coredns_dns_requests_total\{proto="udp"\} (\d+)$/m.exec(await nodeMetrics())?.[1]);

/** Ends the process, which its supervisor may start again. */
async function kill({ role, pid, startTicks }: SupervisedState): Promise<void> {
  assert.ok(pid !== undefined && startTicks !== undefined);
  process.kill(pid, 'SIGKILL');
  await eventually(() => assert.equal(isAlive({ role, pid, startTicks }), false));
}

/** These are kept running from now on, and no others. */
async function supervise(root: string, processes: readonly SupervisedProcess[]): Promise<void> {
  writeSupervision(root, { ...readSupervision(root)!, processes });
  process.kill(readSupervisorState(root)!.pid, 'SIGHUP');
  const rolesOf = (list: readonly { readonly role: string }[]): string[] =>
    list.map(({ role }) => role).sort();
  await eventually(() => assert.deepEqual(rolesOf(readSupervisorState(root)!.processes), rolesOf(processes)));
}

describe('the DNS of a node', () => {
  test('loses no question of 3,200 pairs from one socket each, on a busy machine', long, async (t) => {
    const result = await underLoad(() => askPairs(podNetns, 3200));
    t.diagnostic(`${result.pairs} pairs, ${result.lost} questions lost`);
    assert.deepEqual(result, { pairs: 3200, lost: 0, withoutAddress: 0 });
  });

  test('answers programs of the node itself, and over TCP', limit, async () => {
    assert.deepEqual(await askPairs(nodeNetns, 50), { pairs: 50, lost: 0, withoutAddress: 0 });
    const { stdout } = await cluster.kubectl.run(['exec', 'client', '--', 'nslookup', service]);
    assert.match(stdout, new RegExp(`Server:\\s+${clusterDns}[\\s\\S]*Address: 10\\.96\\.0\\.1\\b`));
    const tcp = await linuxProcesses.run('nsenter', [
      `--net=${podNetns}`,
      '--',
      process.execPath,
      '-e',
      `const s = require('node:net').connect(53, '${clusterDns}', () => { process.stdout.write('connected'); s.destroy(); })`,
    ]);
    assert.equal(tcp.stdout.toString(), 'connected');
  });

  test(
    'leaves what the node itself sends to pods (probes, proxied requests) the node’s address',
    limit,
    async () => {
      const podIP = await cluster.kubectl.ok(['get', 'pod', 'client', '-o', 'jsonpath={.status.podIP}']);
      const { stdout } = await linuxProcesses.run('nsenter', [
        `--net=${nodeNetns}`,
        ...['--', 'ip', '-j', 'route', 'get', podIP],
      ]);
      const [route] = JSON.parse(stdout.toString()) as { prefsrc: string }[];
      const node = readClusterState(clusterPaths(cluster.home, cluster.name))!.nodes[0]!;
      assert.equal(route!.prefsrc, node.ip);
    },
  );

  test(
    'is the agent, which counts what it answers; the Service stands as people expect it',
    limit,
    async () => {
      const metrics = await nodeMetrics();
      const count = await counted();
      assert.ok(count >= 6500, `${count} questions counted`);
      assert.match(metrics, /^coredns_dns_responses_total\{rcode="NOERROR"\} \d+$/m);
      const kubeDns = ['-n', 'kube-system', 'get', 'service', 'kube-dns', '-o'];
      assert.equal(await cluster.kubectl.ok([...kubeDns, 'jsonpath={.spec.clusterIP}']), clusterDns);
      const slices = [
        '-n',
        'kube-system',
        'get',
        'endpointslices',
        '-l',
        'kubernetes.io/service-name=kube-dns',
      ];
      assert.match(await cluster.kubectl.ok(slices), /kube-dns/);
    },
  );

  test('a pod that floods it does not keep others from names', long, async (t) => {
    const flood = linuxProcesses.spawn('nsenter', [
      `--net=${podNetns}`,
      '--',
      process.execPath,
      '-e',
      `const s = require('node:dgram').createSocket('udp4');
       const q = Buffer.from('000101000001000000000000037765620764656661756c740373766307636c7573746572056c6f63616c0000010001', 'hex');
       const go = () => { for (let i = 0; i < 200; i++) s.send(q, 53, '${clusterDns}'); setImmediate(go); };
       go();`,
    ]);
    try {
      joinCgroupsOf(podPid, flood.pid);
      const before = await counted();
      await eventually(async () => assert.ok((await counted()) > before + 5000), patience);
      const result = await askPairs(nodeNetns, 300);
      t.diagnostic(`under a flood: ${result.pairs} pairs, ${result.lost} questions lost`);
      assert.equal(result.lost, 0, `${result.lost} of 600 questions lost`);
    } finally {
      flood.kill('SIGKILL');
      await flood.exited;
    }
  });

  test('goes on while the server is away, also in an agent that starts meanwhile', long, async (t) => {
    const paths = clusterPaths(cluster.home, cluster.name);
    const { root } = paths;
    const { processes } = readSupervision(root)!;
    const records = nodeLayout(paths.node('linux-1')).dnsRecords;
    await eventually(() => assert.ok(existsSync(records)));
    // Nobody starts it again: neither the supervisor, nor an agent that misses the supervisor.
    const server = supervisedState(root, 'server')!;
    await supervise(
      root,
      processes.filter(({ role }) => role !== 'server'),
    );
    await kill(server);
    const result = await askPairs(podNetns, 500);
    t.diagnostic(`without a server: ${result.pairs} pairs, ${result.lost} questions lost`);
    assert.deepEqual(result, { pairs: 500, lost: 0, withoutAddress: 0 });
    await kill(supervisedState(root, 'agent linux-1')!);
    await eventually(async () => assert.equal((await askPairs(podNetns, 1)).withoutAddress, 0), patience);
    assert.deepEqual(await askPairs(podNetns, 200), { pairs: 200, lost: 0, withoutAddress: 0 });
    const { code, stderr } = await cluster.kubectl.run(['get', '--raw', '/readyz']);
    assert.notEqual(code, 0, 'there was no server in all that time');
    assert.match(stderr, /refused/);
    await supervise(root, processes);
    await eventually(
      async () => assert.equal(await cluster.kubectl.ok(['get', '--raw', '/readyz']), 'ok'),
      patience,
    );
  });
});
