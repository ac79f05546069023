// What pods and nodes reach of the machine, what others reach of the cluster, and what a pod may say it is.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { lanePorts } from '../../src/network/dns/dns-table.ts';
import { hardwareAddressOf } from '../../src/network/hardware-address.ts';
import { linuxLinks } from '../../src/os/linux/ip-links.ts';
import { linuxNetworkNamespaces, processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type Child, type Processes, runOrThrow } from '../../src/os/processes.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { podManifest, serve, untilTerm } from '../harness/linux-cluster.ts';
import { buildSpoof, startSink } from '../harness/spoof.ts';

const limit = { timeout: 300_000 };
const servicePort = 8080;
const publishedPort = 8888;
const sinkPort = 9000;
const outsideAddress = '198.51.100.2';
const machineAddress = '198.51.100.254';
/** Of every pod. */
const podsGateway = 'ee:ee:ee:ee:ee:ee';
const metadataAddress = '169.254.169.254';

let cluster: TestCluster;
let machine: Server;
let outside: Processes;
let folder: string;
const children: Child[] = [];
const namespaces = linuxNetworkNamespaces(linuxProcesses);
const text = async (from: Processes, program: string, ...args: string[]): Promise<string> =>
  (await runOrThrow(from, program, args)).trim();

/** Addresses and ports that are listened on, in the namespace. */
async function listeners(from: Processes): Promise<string[]> {
  const lines = (await text(from, 'ss', '-Hltun')).split('\n');
  return lines.filter((line) => line !== '').map((line) => line.trim().split(/\s+/)[4]!);
}

const node = (name: string) =>
  readClusterState(clusterPaths(cluster.home, cluster.name))!.nodes.find((one) => one.name === name)!;
const inNode = (name: string): Processes => processesInNetns(linuxProcesses, node(name).netns!);
const serverPort = (): number =>
  Number(new URL(readClusterState(clusterPaths(cluster.home, cluster.name))!.server).port);
const gateway = (): string => node('linux-1').ip.replace(/\d+$/, '1');

/** True when something accepts a connection. */
async function connects(from: Processes, address: string, port: number): Promise<boolean> {
  const script = `const s=require('net').connect({host:${JSON.stringify(address)},port:${port},timeout:1500});
    s.on('connect',()=>process.exit(0));s.on('timeout',()=>process.exit(1));s.on('error',()=>process.exit(1))`;
  return (await from.run(process.execPath, ['-e', script])).code === 0;
}

const pod = (name: string): Promise<string> =>
  cluster.kubectl.ok(['get', 'pod', name, '-o', 'jsonpath={.status.podIP}']);

async function inPod(name: string, ...command: string[]): Promise<{ code: number; said: string }> {
  const { code, stdout, stderr } = await cluster.kubectl.run(['exec', name, '--', ...command]);
  return { code, said: stdout + stderr };
}

/** Whether a pod gets an answer over HTTP; TLS servers answer, too, that they are none. */
const podReaches = async (address: string, port: number): Promise<boolean> => {
  const script = `echo | timeout 3 nc ${address} ${port} && echo reached`;
  return (await inPod('attacker', 'sh', '-c', script)).said.includes('reached');
};

/** The datagrams that arrive at a node, as `text from address`. */
function sink(from: Processes): string[] {
  const { got, child } = startSink(from, sinkPort);
  children.push(child);
  return got;
}

let listenersBefore: string[];
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'spoof-'));
  // what the machine has besides the cluster: a service, a network outside, a metadata service, a published port
  await namespaces.create(['outside']);
  outside = processesInNetns(linuxProcesses, namespaces.path('outside'));
  await linuxLinks(linuxProcesses).apply([
    { do: 'addVeth', name: 'out0', peer: { name: 'eth0', netns: 'outside' } },
    { do: 'replaceAddress', name: 'out0', address: `${machineAddress}/24` },
    { do: 'setLink', name: 'out0', up: true },
    { do: 'replaceRoute', to: metadataAddress, dev: 'out0' },
  ]);
  await linuxLinks(outside).apply([
    { do: 'setLink', name: 'lo', up: true },
    { do: 'replaceAddress', name: 'eth0', address: `${outsideAddress}/24` },
    { do: 'replaceAddress', name: 'eth0', address: `${metadataAddress}/32` },
    { do: 'setLink', name: 'eth0', up: true },
    { do: 'replaceRoute', to: 'default', via: machineAddress },
  ]);
  await runOrThrow(linuxProcesses, 'nft', ['-f', '-'], {
    input: `table ip published { chain prerouting { type nat hook prerouting priority dstnat; policy accept
      tcp dport ${publishedPort} dnat to ${outsideAddress}:${servicePort}
    }
    }\n`,
  });
  const listening = `require('http').createServer((q,r)=>r.end('outside')).listen(${servicePort},'0.0.0.0',()=>console.log('up'))`;
  children.push(outside.spawn(process.execPath, ['-e', listening]));
  machine = createServer((_, answer) => answer.end('machine'));
  await new Promise<void>((done) => machine.listen(servicePort, '0.0.0.0', done));
  listenersBefore = await listeners(linuxProcesses);

  cluster = await startTestCluster({ linux: 2 });
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
  assert.equal(loaded.code, 0, loaded.stderr);
  const program = await buildSpoof(folder);
  await cluster.kubectl.apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'spoof' },
      binaryData: { spoof: readFileSync(program).toString('base64') },
    }),
  );
  const onFirst = { nodeName: 'linux-1' };
  await cluster.kubectl.apply(
    podManifest(
      'attacker',
      {
        command: untilTerm,
        securityContext: { capabilities: { drop: ['ALL'], add: ['NET_RAW'] } },
        volumeMounts: [{ name: 'spoof', mountPath: '/spoof' }],
      },
      { ...onFirst, volumes: [{ name: 'spoof', configMap: { name: 'spoof', defaultMode: 0o755 } }] },
    ),
  );
  await cluster.kubectl.apply(podManifest('victim', { command: serve('victim') }, onFirst));
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod/attacker', 'pod/victim', '--timeout=60s']);
}, limit);
after(async () => {
  for (const child of children) child.kill('SIGKILL');
  machine?.close();
  await cluster?.down();
  await namespaces.delete(['outside']);
  rmSync(folder, { recursive: true, force: true });
}, limit);

describe('the machine', limit, () => {
  test('up listens on loopback and on its own bridge, and nowhere else', async () => {
    const opened = (await listeners(linuxProcesses)).filter((one) => !listenersBefore.includes(one));
    const allowed = [`127.0.0.1:${serverPort()}`, `${gateway()}:${serverPort()}`];
    assert.deepEqual(opened.filter((one) => one.endsWith(`:${serverPort()}`)).sort(), allowed.sort());
    for (const one of opened) assert.match(one, new RegExp(`^(127\\.0\\.0\\.1|${gateway()}):`), one);
  });

  test('a node listens on its own address and on loopback', async () => {
    const opened = await listeners(inNode('linux-1'));
    assert.ok(opened.includes(`${node('linux-1').ip}:10250`), opened.join(' '));
    // and the cluster's DNS on the address of its Service, with a port for each share of those who ask
    const dns = `10\\.96\\.0\\.10:(${[53, ...lanePorts].join('|')})$`;
    const own = new RegExp(`^(127\\.0\\.0\\.1:|${node('linux-1').ip}:|${dns})`);
    for (const one of opened) assert.match(one, own);
    const v6 = await text(inNode('linux-1'), 'ip', '-6', '-br', 'address');
    assert.doesNotMatch(v6, /fe80/, 'no way around the rules by link-local addresses');
    assert.doesNotMatch(await text(linuxProcesses, 'ip', '-6', '-br', 'address'), /^phb-.*fe80/m);
  });

  test('of the machine, pods and nodes reach the API server and DNS, and the outside', async () => {
    const rows: readonly (readonly [what: string, address: string, port: number, reached: boolean])[] = [
      ['the API server', gateway(), serverPort(), true],
      ['the outside', outsideAddress, servicePort, true],
      ["the machine's service by the fabric's address", gateway(), servicePort, false],
      ["the machine's service by another address", machineAddress, servicePort, false],
      ['the API server by another address', machineAddress, serverPort(), false],
      ['a link-local service behind the machine', metadataAddress, servicePort, false],
      ['a port that the machine sends elsewhere', machineAddress, publishedPort, false],
    ];
    assert.ok(await connects(linuxProcesses, metadataAddress, servicePort), 'the machine itself does');
    assert.ok(await connects(linuxProcesses, machineAddress, servicePort));
    for (const [what, address, port, reached] of rows) {
      assert.equal(await podReaches(address, port), reached, `a pod reaches ${what}`);
      assert.equal(await connects(inNode('linux-1'), address, port), reached, `a node reaches ${what}`);
    }
    const names = await inPod('attacker', 'nslookup', 'kubernetes.default.svc.cluster.local');
    assert.match(names.said, /10\.96\.0\.1/);
  });

  test('nobody outside of the machine reaches nodes, pods and the API server through it', async () => {
    const victim = await pod('victim');
    assert.ok(await connects(linuxProcesses, victim, 8080), 'the machine does');
    for (const [address, port] of [
      [gateway(), serverPort()],
      [machineAddress, serverPort()],
      [node('linux-1').ip, 10250],
      [victim, 8080],
    ] as const)
      assert.equal(await connects(outside, address, port), false, `${address}:${port}`);
  });

  test("what a pod reaches of its node is the kubelet's port, which asks who it is", async () => {
    const { ip } = node('linux-1');
    const asked = await connects(inNode('linux-1'), ip, 10250);
    assert.ok(asked);
    const answer = await cluster.kubectl.run(['get', '--raw', '/healthz']);
    assert.equal(answer.stdout, 'ok');
    for (const listener of await listeners(inNode('linux-1'))) {
      const [address, port] = [
        listener.slice(0, listener.lastIndexOf(':')),
        Number(listener.split(':').at(-1)),
      ];
      const reached = await podReaches(ip, port);
      assert.equal(reached, address === ip, `${listener} is reached from a pod: ${reached}`);
    }
  });
});

describe("the kubelet's port", limit, () => {
  test('is nobody else’s, by a host port or a Service of that address', async () => {
    const ports = [{ containerPort: 8080, hostPort: 10_250 }];
    await cluster.kubectl.apply(
      podManifest('thief', { command: serve('thief'), ports }, { nodeName: 'linux-1' }),
    );
    await cluster.kubectl.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'thief' },
        spec: {
          selector: { app: 'thief' },
          externalIPs: [node('linux-1').ip],
          ports: [{ port: 10_250, targetPort: 8080 }],
        },
      }),
    );
    await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod/thief', '--timeout=60s']);
    const own = await cluster.kubectl.ok(['get', 'svc', 'thief', '-o', 'jsonpath={.spec.clusterIP}']);
    await eventually(async () => assert.ok(await podReaches(own, 10_250), 'the Service is not there yet'));
    const { code, said } = await inPod('victim', 'true');
    assert.equal(code, 0, said);
    await cluster.kubectl.ok(['delete', 'svc/thief', 'pod/thief', '--now']);
  });
});

describe('a pod with NET_RAW', limit, () => {
  test('is heard as itself, and as nobody else, whatever it writes into its packets', async () => {
    const near = sink(inNode('linux-1'));
    const far = sink(inNode('linux-2'));
    await eventually(() => assert.deepEqual([near, far], [['ready'], ['ready']]));
    const [own, victim] = [await pod('attacker'), await pod('victim')];
    const mac = hardwareAddressOf(own);
    const port = String(sinkPort);
    const rows: string[][] = [];
    for (const to of [node('linux-1').ip, node('linux-2').ip]) {
      rows.push(
        ['ip', victim, to, port, 'as-the-victim'],
        ['ip', node('linux-1').ip, to, port, 'as-its-node'],
        ['ip', node('linux-2').ip, to, port, 'as-another-node'],
        ['ip', gateway(), to, port, 'as-the-machine'],
        ['ip', '127.0.0.1', to, port, 'as-localhost'],
        ['ip', '8.8.8.8', to, port, 'as-the-world'],
        ['frame', podsGateway, mac, victim, to, port, 'as-the-victim'],
        ['frame', podsGateway, '0a:58:00:00:00:01', own, to, port, 'with-other-hardware'],
        // what is true comes last: when it is there, all before it had its chance
        ['frame', podsGateway, mac, own, to, port, 'honest-frame'],
        ['ip', own, to, port, 'honest'],
      );
    }
    for (const row of rows) {
      const { said } = await inPod('attacker', '/spoof/spoof', ...row);
      assert.match(said, /^sent$/m, `${row.join(' ')}: ${said}`);
    }
    const honest = ['ready', `honest-frame from ${own}`, `honest from ${own}`];
    await eventually(() => assert.deepEqual([near, far], [honest, honest]));
  });

  test("neither ARP nor IPv6 gives it another's place", async () => {
    const victim = await pod('victim');
    const dropped = async (): Promise<number> => {
      const rules = await text(inNode('linux-1'), 'nft', 'list', 'table', 'arp', 'porthole-pods');
      return Number(/counter packets (\d+)/.exec(rules)![1]);
    };
    const before = await dropped();
    for (const row of [['arp', '0a:58:00:00:00:01', victim], ['ip6']])
      assert.match((await inPod('attacker', '/spoof/spoof', ...row)).said, /^sent$/m);
    await eventually(async () => assert.ok((await dropped()) > before, 'the claim is dropped'));
    assert.equal(await text(inNode('linux-1'), 'ip', '-6', 'neigh'), '');
    const known = await text(inNode('linux-1'), 'ip', 'neigh');
    assert.doesNotMatch(known, /0a:58:00:00:00:01/);
  });
});

describe('when asked', limit, () => {
  test('--allow-machine-access opens the machine, --bind-address a further address with a certificate for it', async () => {
    const args = ['up', '--name', cluster.name, '--linux', '2', '--windows', '0'];
    const opened = await cluster.porthole([...args, '--allow-machine-access']);
    assert.equal(opened.code, 0, opened.stderr);
    assert.equal(await podReaches(machineAddress, servicePort), true);
    assert.equal(await podReaches(metadataAddress, servicePort), true);

    const refused = await cluster.porthole([...args, '--bind-address', machineAddress]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /its server listens elsewhere .*deletes it with all that it has stored/);
    const other = await startTestCluster({ name: 'open', runtime: 'simulated', bindAddress: machineAddress });
    try {
      const { server } = readClusterState(clusterPaths(other.home, other.name))!;
      const url = server.replace('127.0.0.1', machineAddress);
      const asked = await other.kubectl.run(['--server', url, 'get', '--raw', '/readyz']);
      assert.deepEqual([asked.code, asked.stdout], [0, 'ok'], asked.stderr);
      assert.ok(await connects(outside, machineAddress, Number(new URL(server).port)));
    } finally {
      await other.down();
    }
  });
});
