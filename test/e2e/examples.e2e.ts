// Every manifest of examples/ does what its first line says, on a cluster with a Linux and two Windows nodes.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';

const examples = fileURLToPath(new URL('../../examples', import.meta.url));
const windowsNodes = ['windows-1', 'windows-2'] as const;
const shared = 'shared with a container';

let cluster: TestCluster;
let kubectl: Kubectl;

before(
  async () => {
    cluster = await startTestCluster({ linux: 1, windows: windowsNodes.length });
    kubectl = cluster.kubectl;
    const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
    assert.equal(loaded.code, 0, loaded.stderr);
    for (const node of windowsNodes) {
      const folder = join(cluster.hostDrive(node), 'etc/foo');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'from-host.txt'), shared);
    }
    // All at once, as somebody does who wants to see everything.
    await kubectl.ok(['apply', '-f', examples]);
  },
  { timeout: 240_000 },
);
after(() => cluster?.down());

const limit = { timeout: 60_000 };
const ready = (what: string, selector: readonly string[] = []): Promise<string> =>
  kubectl.ok(['wait', '--for=condition=Ready', what, ...selector, '--timeout=45s']);
const field = (what: readonly string[], path: string): Promise<string> =>
  kubectl.ok(['get', ...what, '-o', `jsonpath={${path}}`]);
const cmd = async (pod: string, line: string): Promise<string> => {
  const { stdout, stderr } = await kubectl.run(['exec', pod, '--', 'cmd', '/c', line]);
  return (stdout + stderr).replaceAll('\r\n', '\n');
};
/** What a web server in a pod answers to another pod. */
const asked = (url: string): Promise<string> =>
  kubectl.ok(['exec', 'deploy/linux-web', '--', 'timeout', '10', 'wget', '-qO-', url]);
const addressOf = (pod: string): Promise<string> => field(['pod', pod], '.status.podIP');

describe('an example', () => {
  test('says in its first line what it shows', () => {
    for (const name of readdirSync(examples)) {
      if (name.endsWith('.yaml'))
        assert.match(readFileSync(join(examples, name), 'utf8'), /^# Shows: .{20,}\n/, name);
    }
  });

  test('hello: a Windows and a Linux program call each other by name', limit, async () => {
    for (const name of ['linux-web', 'windows-web'])
      await kubectl.ok(['rollout', 'status', `deployment/${name}`, '--timeout=45s']);
    assert.match(await asked('http://windows-web/'), /"platform": "win32"/);
    const call = 'http://windows-web/call?url=http://linux-web/';
    await eventually(async () => assert.match(await asked(call), /Hello from a Linux container/));
  });

  test('iis-style-pod: a node selector sends it to Windows, a NodePort leads to it', limit, async () => {
    await ready('pod/iis');
    assert.match(await field(['pod', 'iis'], '.spec.nodeName'), /^windows-/);
    const port = await field(['service', 'iis'], '.spec.ports[0].nodePort');
    const node = await field(['node', 'linux-1'], '.status.addresses[?(@.type=="InternalIP")].address');
    await eventually(async () => {
      const answer = await fetch(`http://${node}:${port}/`, { signal: AbortSignal.timeout(2_000) });
      assert.equal(((await answer.json()) as { hostname: string }).hostname, 'iis');
    });
  });

  test('secret-and-configmap-env: the program has the values in its environment', limit, async () => {
    await ready('pod/my-secret-pod');
    const env = JSON.parse(await asked(`http://${await addressOf('my-secret-pod')}/env`)) as Record<
      string,
      string
    >;
    assert.deepEqual(
      [env['LOGIN_NAME'], env['PASSWORD'], env['EXAMPLE_PROPERTY_1'], env['EXAMPLE_PROPERTY_2']],
      ['admin', '1f2d1e2e67df', 'hello', 'world'],
    );
  });

  test('host-path-read-only: the folder is at C:\\etc\\foo, and nobody writes to it', limit, async () => {
    await ready('pod/my-hostpath-volume-pod');
    assert.equal(await cmd('my-hostpath-volume-pod', 'type C:\\etc\\foo\\from-host.txt'), shared);
    assert.match(await cmd('my-hostpath-volume-pod', 'echo x> C:\\etc\\foo\\new.txt'), /Access (is )?denied/);
    await cmd('my-hostpath-volume-pod', 'del C:\\etc\\foo\\from-host.txt');
    const node = await field(['pod', 'my-hostpath-volume-pod'], '.spec.nodeName');
    assert.deepEqual(readdirSync(join(cluster.hostDrive(node), 'etc/foo')), ['from-host.txt']);
  });

  test('two-empty-dirs: /cache is C:\\cache, beside C:/scratch', limit, async () => {
    await ready('pod/my-empty-dir-pod');
    const script = 'echo one> C:\\cache\\a.txt& echo two> \\scratch\\b.txt& dir /b C:\\cache C:\\scratch';
    assert.match(await cmd('my-empty-dir-pod', script), /a\.txt[\s\S]*b\.txt/);
    assert.doesNotMatch(await cmd('my-empty-dir-pod', 'dir /b C:\\scratch'), /a\.txt/);
  });

  test('windows-daemonset: one pod on each Windows node and on no other', limit, async () => {
    await kubectl.ok(['rollout', 'status', 'daemonset/my-daemonset', '--timeout=45s']);
    const nodes = await field(['pods', '-l', 'app=foo'], '.items[*].spec.nodeName');
    assert.deepEqual(nodes.split(' ').sort(), [...windowsNodes]);
  });

  test('deployment-with-limits: three replicas whose limits are enforced', limit, async () => {
    await kubectl.ok(['rollout', 'status', 'deployment/iis-limited', '--timeout=45s']);
    assert.equal(await field(['deployment', 'iis-limited'], '.status.readyReplicas'), '3');
    const script = 'const a=[];for(;;)a.push(Buffer.alloc(16<<20,1))';
    const greedy = await kubectl.run(['exec', 'deploy/iis-limited', '--', 'node', '-e', script]);
    assert.notEqual(greedy.code, 0);
    const text = await kubectl.ok(['describe', 'pods', '-l', 'app=iis-limited']);
    assert.match(text, /Limits:\s+cpu:\s+2\s+memory:\s+256Mi/);
    assert.doesNotMatch(text, /OOMKilled/);
  });

  test('two-containers-localhost: the second hears the first on localhost', limit, async () => {
    await ready('pod/two-containers');
    await eventually(async () =>
      assert.match(
        await kubectl.ok(['logs', 'two-containers', '-c', 'caller']),
        /^Hello from the first container$/m,
      ),
    );
  });

  test('hyper-v-runtime-class: the pod runs on Windows, marked as isolated by emulation', limit, async () => {
    await ready('pod/hyperv-web');
    assert.match(await field(['pod', 'hyperv-web'], '.spec.nodeName'), /^windows-/);
    assert.match(await asked(`http://${await addressOf('hyperv-web')}/`), /"platform": "win32"/);
    assert.match(
      await kubectl.ok(['get', 'events', '--field-selector', 'involvedObject.name=hyperv-web']),
      /Hyper-V isolation is emulated/,
    );
  });
});

describe('the founding document’s own manifests', () => {
  const oldDaemonSet = JSON.stringify({
    apiVersion: 'extensions/v1beta1',
    kind: 'DaemonSet',
    metadata: { name: 'my-DaemonSet', labels: { app: 'foo' } },
    spec: {
      selector: { matchLabels: { app: 'foo' } },
      template: {
        metadata: { labels: { app: 'foo' } },
        spec: { containers: [{ name: 'foo', image: 'microsoft/windowsservercore:1709' }] },
      },
    },
  });

  test('a DaemonSet of extensions/v1beta1 is refused, and the server names apps/v1', limit, async () => {
    const applied = await kubectl.run(['apply', '-f', '-'], { input: oldDaemonSet });
    assert.equal(applied.code, 1);
    assert.match(
      applied.stderr,
      /Warning: extensions\/v1beta1 is served no more: use apps\/v1 for DaemonSet.*\n.*no matches for kind "DaemonSet" in version "extensions\/v1beta1"/,
    );
    const path = '/apis/extensions/v1beta1/namespaces/default/daemonsets';
    const raw = await kubectl.run(['create', '--raw', path, '-f', '-'], { input: oldDaemonSet });
    assert.equal(raw.code, 1);
    assert.match(
      raw.stderr,
      /extensions\/v1beta1 DaemonSet was removed in Kubernetes 1\.16; use apps\/v1 DaemonSet/,
    );
  });

  test('the beta label of the operating system still selects', limit, async () => {
    await kubectl.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'beta-label' },
        spec: {
          nodeSelector: { 'beta.kubernetes.io/os': 'windows' },
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image: 'porthole.local/sample/web-windows:ltsc2022' }],
        },
      }),
    );
    await ready('pod/beta-label');
    assert.match(await field(['pod', 'beta-label'], '.spec.nodeName'), /^windows-/);
    assert.equal(
      (await kubectl.ok(['get', 'nodes', '-l', 'beta.kubernetes.io/os=windows', '-o', 'name']))
        .trim()
        .split('\n').length,
      2,
    );
  });
});
