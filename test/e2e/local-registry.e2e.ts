// `up --registry` and `--registry-mirror`: a real registry beside the cluster, one name for the machine and for all nodes.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { livingSupervisor } from '../../src/cmd/supervisor/supervise-cluster.ts';
import { busyboxImage, linuxSampleImages } from '../../src/images/sample-images.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { podManifest, untilTerm } from '../harness/linux-cluster.ts';
import { pushArchive } from '../harness/push-archive.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { nativeDir } from '../harness/windows-runtime.ts';

const limit = { timeout: 300_000 };
const port = 5005;
const own = `localhost:${port}`;
const asked = ['--linux', '2', '--windows', '0'];

const scratch = scratchDirectory('local-registry');
/** What a registry says of one before it sends it. */
const hugeManifest = {
  'content-type': 'application/vnd.oci.image.manifest.v1+json',
  'content-length': 1 << 30,
  'docker-content-digest': `sha256:${'a'.repeat(64)}`,
} as const;
let cluster: TestCluster;
let archive: string;
let digest: string;
let pods = 0;

/** A pod of an image that is asked for anew; returns its name. */
async function podOf(image: string, node = 'linux-1'): Promise<string> {
  const name = `pull-${++pods}`;
  const container = { image, imagePullPolicy: 'Always', command: untilTerm };
  await cluster.kubectl.apply(podManifest(name, container, { nodeName: node }));
  return name;
}

async function runs(image: string, node?: string): Promise<string> {
  const name = await podOf(image, node);
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=50s']);
  return name;
}

/** What the events say of the pull. */
async function refusal(image: string): Promise<string> {
  const name = await podOf(image);
  const of = `involvedObject.name=${name},reason=Failed`;
  const said = await eventually(async () => {
    const fields = ['get', 'events', '--field-selector', of, '-o', 'jsonpath={.items[*].message}'];
    const text = await cluster.kubectl.ok(fields);
    assert.match(text, /Failed to pull image/);
    return text;
  });
  await cluster.kubectl.ok(['delete', 'pod', name, '--wait=false']);
  return said;
}

const upAgain = async (...more: readonly string[]): ReturnType<TestCluster['porthole']> =>
  cluster.porthole(['up', '--name', cluster.name, ...asked, ...more]);

async function mirrors(...said: readonly string[]): Promise<void> {
  const { code, stderr } = await upAgain(...said.flatMap((one) => ['--registry-mirror', one]));
  assert.equal(code, 0, stderr);
}

const gatewayOf = (node: { readonly ip: string }): string => node.ip.replace(/\.\d+$/, '.1');
const state = () => readClusterState(clusterPaths(cluster.home, cluster.name))!;

before(async () => {
  const samples = await linuxSampleImages({
    processes: linuxProcesses,
    cacheDir: portholeCache(),
    nativeDir,
  });
  archive = samples.find(({ reference }) => reference === busyboxImage)!.file;
  cluster = await startTestCluster({ home: scratch.path, linux: 2, arguments: ['--registry', String(port)] });
  digest = await pushArchive(archive, `http://${own}/v2/team/app`, '1');
}, limit);
after(() => scratch.remove());

describe('up --registry', limit, () => {
  test('what is pushed to localhost is pulled by that name on every node: by tag, by digest, by both, by 127.0.0.1', async () => {
    await runs(`${own}/team/app:1`);
    await runs(`${own}/team/app@${digest}`, 'linux-2');
    await runs(`${own}/team/app:1@${digest}`, 'linux-2');
    await runs(`127.0.0.1:${port}/team/app:1`);
    const wrong = `sha256:${'0'.repeat(64)}`;
    assert.match(await refusal(`${own}/team/app:1@${wrong}`), /: not found/);
    assert.match(await refusal(`${own}/team/none:1`), /: not found/);
  });

  test('tools find it in kube-public', async () => {
    const [at, key] = ['configmap/local-registry-hosting', '{.data.localRegistryHosting\\.v1}'];
    const said = await cluster.kubectl.ok(['get', at, '-n', 'kube-public', '-o', `jsonpath=${key}`]);
    assert.equal(said, `host: "${own}"\n`);
  });

  test('pods and nodes read it, and can neither write nor delete', async () => {
    const name = await runs(`${own}/team/app:1`);
    const at = `http://${gatewayOf(state().nodes[0]!)}:${port}/v2/team/app`;
    const inPod = (...args: readonly string[]): Promise<string> =>
      cluster.kubectl.ok(['exec', name, '--', 'sh', '-c', args.join(' ')]);
    assert.match(await inPod('wget', '-qO-', `${at}/tags/list`), /"tags":\["1"\]/);
    const post = await inPod('wget', '-S', '--post-data=x', `${at}/blobs/uploads/`, '2>&1', '||', 'true');
    assert.match(post, /405 Method Not Allowed/);
    const gone = `DELETE /v2/team/app/manifests/${digest} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n`;
    const { hostname } = new URL(at);
    assert.match(
      await inPod(`printf '${gone}'`, '|', 'nc', hostname, String(port)),
      /405 Method Not Allowed/,
    );
  });

  test('it listens on loopback and on the network of the nodes only', async () => {
    const { stdout } = await linuxProcesses.run('ss', ['-Hltn', `sport = :${port}`]);
    const listens = [...stdout.toString().matchAll(/(\S+):\d+\s+\S+:\*/g)].map(([, address]) => address);
    assert.deepEqual(listens.sort(), ['127.0.0.1', gatewayOf(state().nodes[0]!)].sort());
  });

  test('killed, it comes back with what it holds; up again keeps it, and refuses another port', async () => {
    for (const role of ['registry', 'registry for nodes']) {
      const { pid } = state().processes.find((one) => one.role === role)!;
      process.kill(pid, 'SIGKILL');
      await eventually(() =>
        assert.notEqual(state().processes.find((one) => one.role === role)?.pid ?? pid, pid),
      );
    }
    await eventually(async () =>
      assert.equal((await fetch(`http://${own}/v2/team/app/tags/list`)).status, 200),
    );
    await runs(`${own}/team/app:1`);
    assert.equal((await upAgain('--registry')).code, 0);
    await runs(`${own}/team/app:1`, 'linux-2');
    const other = await upAgain('--registry', '5006');
    assert.equal(other.code, 1);
    assert.match(other.stderr, /is there already, and its registry is another one \(--registry 5005\)/);
    const shown = await cluster.porthole(['status', '--name', cluster.name]);
    assert.match(
      shown.stdout,
      /^registry localhost:5005: registry: pid \d+, 1 restart.*; registry for nodes: pid \d+/m,
    );
    for (const door of ['registry', 'registry-for-nodes'])
      assert.equal((await cluster.porthole(['logs', door, '--name', cluster.name])).code, 0, door);
  });

  test("one of its doors is all that a crash left: up takes it for the cluster's own", async () => {
    const door = 'registry for nodes';
    const left = state().processes.find((one) => one.role === door)!.pid;
    const { root } = clusterPaths(cluster.home, cluster.name);
    const gone = state().processes.filter((one) => one.role !== door);
    for (const { pid } of [livingSupervisor(root)!, ...gone]) process.kill(pid, 'SIGKILL');
    const { code, stderr } = await upAgain();
    assert.equal(code, 0, stderr);
    assert.equal(state().processes.find((one) => one.role === door)?.pid, left);
    assert.equal((await fetch(`http://${own}/v2/team/app/tags/list`)).status, 200);
    await runs(`${own}/team/app:1`);
  });

  test('a port that somebody has is refused with who to ask', async () => {
    const taken = createTcpServer().listen(5007, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    try {
      const up = ['up', '--name', 'second', '--linux', '1', '--windows', '0', '--registry', '5007'];
      const { code, stderr } = await cluster.porthole(up);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /port 5007, by which images of the cluster's registry are named, is taken .*ss -ltnp/,
      );
    } finally {
      taken.close();
      await cluster.porthole(['down', '--name', 'second']);
    }
  });
});

describe('up --registry-mirror', limit, () => {
  test('is asked in place of a registry; on this machine by its loopback; a running cluster takes it, and gives it up', async () => {
    const agents = () => state().processes.map(({ role, pid }) => `${role} ${pid}`);
    const before = agents();
    assert.match(await refusal('registry.invalid/team/app:1'), /no such host|server misbehaving|lookup/);
    await mirrors(`registry.invalid=http://${own}`);
    await runs('registry.invalid/team/app:1');
    await runs(`registry.invalid/team/app:1@${digest}`, 'linux-2');
    await mirrors('another.invalid=http://127.0.0.1:5005');
    await runs('another.invalid/team/app:1');
    await runs('registry.invalid/team/app:1');
    await mirrors('registry.invalid=');
    assert.match(await refusal('registry.invalid/team/app:1'), /no such host|server misbehaving|lookup/);
    assert.deepEqual(agents(), before, 'nobody was started again');
  });

  test('one that is down, or has not the image, is passed over: the next one is asked, at last the registry itself', async () => {
    const empty = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => empty.listen(0, '0.0.0.0', resolve));
    const { port: other } = empty.address() as AddressInfo;
    try {
      await mirrors(`down.invalid=http://localhost:1,http://localhost:${other},http://${own}`);
      await runs('down.invalid/team/app:1');
      await mirrors('down.invalid=http://localhost:1');
      assert.match(await refusal('down.invalid/team/app:1'), /down\.invalid/);
    } finally {
      empty.close();
    }
  });

  test('of a hostile one containerd follows a redirect from the node, never to the loopback of this machine, and reads no huge manifest', async () => {
    const asked: string[] = [];
    const secret = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('secret');
    });
    await new Promise<void>((resolve) => secret.listen(0, '127.0.0.1', resolve));
    const { port: secretPort } = secret.address() as AddressInfo;
    const hostile = createServer(({ url }, response) => {
      if (url?.includes('/huge/')) response.writeHead(200, hugeManifest).end();
      else response.writeHead(307, { location: `http://127.0.0.1:${secretPort}/secret` }).end();
    });
    await new Promise<void>((resolve) => hostile.listen(0, '0.0.0.0', resolve));
    try {
      await mirrors(`hostile.invalid=http://localhost:${(hostile.address() as AddressInfo).port}`);
      const followed = await refusal('hostile.invalid/redirect/app:1');
      assert.match(followed, /Head "http:\/\/127\.0\.0\.1:\d+\/secret": .*connection refused/);
      assert.deepEqual(asked, []);
      assert.match(await refusal('hostile.invalid/huge/app:1'), /rejecting 1073741824 byte manifest/);
    } finally {
      secret.close();
      hostile.close();
    }
  });

  test('what is no mirror is refused in a sentence', async () => {
    const rows: readonly (readonly [string, RegExp])[] = [
      ['docker.io', /is not of the form docker\.io=http:/],
      ['../x=http://localhost:1', /is not of the form/],
      ['docker.io=localhost:1', /is no URL of a mirror/],
      ['docker.io=https://a:b@mirror', /passwords on a command line are for all to see/],
    ];
    for (const [said, reason] of rows) {
      const { code, stderr } = await upAgain('--registry-mirror', said);
      assert.equal(code, 1, said);
      assert.match(stderr, reason);
      assert.doesNotMatch(stderr, /\n +at /);
    }
  });
});

test('down --keep keeps what it holds, and up goes on with it under the same name', limit, async () => {
  const kept = await cluster.porthole(['down', '--name', cluster.name, '--keep']);
  assert.equal(kept.code, 0, kept.stderr);
  await assert.rejects(fetch(`http://${own}/v2/`));
  await cluster.up();
  await runs(`${own}/team/app:1`);
});

test('down takes the registry and what it holds along', limit, async () => {
  const { registry } = clusterPaths(cluster.home, cluster.name);
  assert.ok(existsSync(join(registry, 'data')));
  await cluster.down({ keepHome: true });
  assert.equal(existsSync(registry), false);
  await assert.rejects(fetch(`http://${own}/v2/`));
});
