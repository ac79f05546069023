// After `up` plain kubectl talks to the cluster, as after kind's; after `down` somebody's kubeconfig is as it was.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseYaml } from '../../src/base/yaml.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { RunResult } from '../../src/os/processes.ts';
import { kubectlFor } from '../harness/kubectl.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 300_000 };
const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));
const scratch = scratchDirectory('merge');
const theirs = join(scratch.path, '.kube/config');
const other = join(scratch.path, 'other');
const env = {
  HOME: scratch.path,
  KUBECONFIG: '',
  PORTHOLE_HOME: join(scratch.path, 'home'),
  PORTHOLE_CACHE: portholeCache(),
};
const file = join(scratch.path, 'cluster.yaml');
const config = `apiVersion: cli.porthole.dev/v1
kind: Cluster
name: b
runtime: simulated
merge: false
nodes:
- os: linux
- os: windows
  name: old
  windowsBuild: ltsc2019
`;
const prod = `apiVersion: v1
kind: Config
# the one that matters
clusters:
- cluster:
    server: https://prod.example:6443
  name: prod
contexts:
- context:
    cluster: prod
    user: ""
  name: prod
current-context: prod
users: []
`;

let kubectlPath: string;
const run = (path: string, args: readonly string[], more: Record<string, string> = {}): Promise<RunResult> =>
  linuxProcesses.run(path, args, { env: { ...env, ...more }, timeoutMs: 120_000 });
async function ok(path: string, args: readonly string[], more?: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await run(path, args, more);
  assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
  return stdout.toString();
}
const up = (name: string): Promise<string> =>
  ok(launcher, [...['up', '--name', name, '--linux', '1', '--windows', '0', '--runtime', 'simulated']]);
const current = async (more?: Record<string, string>): Promise<string> =>
  (await run(kubectlPath, ['config', 'current-context'], more)).stdout.toString().trim();

before(async () => {
  kubectlPath = (await kubectlFor('/nonexistent')).path;
  mkdirSync(join(scratch.path, '.kube'));
  writeFileSync(theirs, prod, { mode: 0o644 });
});
after(async () => {
  for (const name of ['a', 'b']) await run(launcher, ['down', '--name', name]);
  scratch.remove();
}, limit);

test("up makes its cluster kubectl's, beside those that were there; a second one too", limit, async () => {
  await up('a');
  assert.equal(await current(), 'porthole-a');
  assert.match(await ok(kubectlPath, ['get', 'nodes']), /^linux-1 +Ready/m);
  assert.match(readFileSync(theirs, 'utf8'), /# the one that matters/);
  assert.equal(statSync(theirs).mode & 0o777, 0o600);
  writeFileSync(file, config);
  for (const flags of [
    ['--config', file],
    ['--config', file, '--no-merge'],
  ])
    await ok(launcher, ['up', ...flags]);
  // Without a word about nodes, a cluster goes on with those it has.
  await ok(launcher, ['up', '--name', 'b', '--no-merge']);
  const other_ = await run(launcher, ['up', '--name', 'b', '--no-merge', '--linux', '2']);
  assert.match(other_.stderr.toString(), /with other nodes .*deletes it with all that it has stored/);
  const again = await run(launcher, ['node', 'add', 'linux-1', '--name', 'b']);
  assert.deepEqual([again.code, again.stdout.toString()], [0, 'linux-1\n']);
  assert.match(again.stderr.toString(), /node linux-1 is in cluster b already/);
  assert.equal(await current(), 'porthole-a', 'merge: false and --no-merge leave it alone');
  assert.match(await ok(launcher, ['node', 'list', '--name', 'b']), /^old +windows 17763 \(emulated\)/m);
  await ok(launcher, ['kubeconfig', '--name', 'b', '--merge', '--kubeconfig', other]);
  assert.equal(await current({ KUBECONFIG: other }), 'porthole-b');
  assert.match(await ok(kubectlPath, ['get', 'nodes'], { KUBECONFIG: other }), /^linux-1 +Ready/m);
  await ok(launcher, ['kubeconfig', '--name', 'b', '--merge']);
  const contexts = await ok(kubectlPath, ['config', 'get-contexts', '-o', 'name']);
  assert.deepEqual(contexts.trim().split('\n').sort(), ['porthole-a', 'porthole-b', 'prod']);
});

test('a kubeconfig that is broken is noticed before anything is made', limit, async () => {
  const broken = join(scratch.path, 'broken');
  writeFileSync(broken, 'clusters: [\n');
  const { code, stderr } = await run(launcher, ['up', '--name', 'c', '--kubeconfig', broken]);
  assert.equal(code, 1);
  assert.match(stderr.toString(), /broken was not changed\n {2}because: .*\n {2}next: repair/);
  assert.equal(existsSync(join(scratch.path, 'home/clusters/c')), false);
});

test('status says the same in JSON and YAML, in the shape of docs/OUTPUT.md', limit, async () => {
  const json = await ok(launcher, ['status', '--name', 'a', '-o', 'json']);
  const yaml = await ok(launcher, ['status', '--name', 'a', '-o', 'yaml']);
  assert.deepEqual(parseYaml(yaml), JSON.parse(json));
  const text = json.replaceAll(/"pid": \d+/g, '"pid": 1').replaceAll(/pid \d+/g, 'pid 1');
  const running = { running: true, pid: 1, message: 'pid 1' };
  assert.deepEqual(JSON.parse(text), {
    apiVersion: 'cli.porthole.dev/v1',
    kind: 'ClusterStatusList',
    items: [
      {
        name: 'a',
        phase: 'Running',
        endpoint: await ok(kubectlPath, [
          'config',
          'view',
          '-o',
          'jsonpath={.clusters[?(@.name=="porthole-a")].cluster.server}',
        ]),
        runtime: 'simulated',
        topology: 'host-gateway',
        kubeconfig: join(scratch.path, 'home/clusters/a/kubeconfig'),
        nodes: [
          {
            name: 'linux-1',
            os: 'linux',
            emulated: false,
            address: '127.0.0.1',
            agent: { ...running, restarts: 0 },
            registered: true,
            ready: true,
            cordoned: false,
          },
        ],
        server: { ...running, restarts: 0 },
        supervisor: running,
        problems: [],
      },
    ],
  });
  const nodes = JSON.parse(await ok(launcher, ['node', 'ls', '--name', 'a', '-o', 'json'])) as {
    kind: string;
  };
  assert.equal(nodes.kind, 'NodeStatusList');
  assert.match(await ok(launcher, ['version', '-o', 'yaml']), /^gitVersion: v1\.36/m);
  const document = readFileSync('docs/OUTPUT.md', 'utf8');
  for (const [, field = ''] of text.matchAll(/"(\w+)":/g))
    assert.ok(document.includes(`\`${field}\``), field);
});

test("a cluster's own kubeconfig in $KUBECONFIG is left to the cluster", limit, async () => {
  const own = (await ok(launcher, ['kubeconfig', '--name', 'a', '--path'])).trim();
  const before_ = readFileSync(own, 'utf8');
  await ok(launcher, ['up', '--name', 'a', '--linux', '1', '--windows', '0', '--runtime', 'simulated'], {
    KUBECONFIG: own,
  });
  assert.equal(readFileSync(own, 'utf8'), before_);
});

test('down takes its entries out of every file, and all else is as it was', limit, async () => {
  assert.equal(await current(), 'porthole-b');
  await ok(launcher, ['down', '--name', 'b']);
  assert.equal(await current(), '', 'none is chosen by us');
  assert.equal(existsSync(other), false, 'it was made for the cluster');
  await ok(launcher, ['down', '--name', 'a']);
  assert.equal(await current(), '');
  const left = readFileSync(theirs, 'utf8');
  assert.doesNotMatch(left, /porthole/);
  assert.equal(left, prod.replace('current-context: prod', 'current-context: ""'));
  for (const file of [theirs, other]) assert.equal(existsSync(`${file}.lock`), false);
});
