// Windows images on a node: which of them it runs, what it says of the others, and archives that nobody should load.
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { ctr } from '../../src/images/ctr.ts';
import { writeLayer } from '../../src/images/image-tar.ts';
import { type ImagePart, writeImageArchive } from '../../src/images/oci-archive.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { pushArchive } from '../harness/push-archive.ts';
import { scratchDirectory } from '../harness/scratch.ts';

interface PodView {
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly state: { readonly waiting?: { readonly reason: string; readonly message: string } };
    }[];
  };
}

const limit = { timeout: 60_000 };
const registryPort = 5008;
let cluster: TestCluster;
let kubectl: Kubectl;
let scratch: ReturnType<typeof scratchDirectory>;

before(
  async () => {
    scratch = scratchDirectory('images');
    cluster = await startTestCluster({
      linux: 1,
      windows: 1,
      windowsBuild: 25398,
      arguments: ['--registry', String(registryPort)],
    });
    kubectl = cluster.kubectl;
  },
  { timeout: 240_000 },
);
after(async () => {
  await cluster?.down();
  scratch?.remove();
});

/** An archive of a Windows image for each of these versions; every one holds a file that names its own. `others`: what is there before. */
async function archive(
  name: string,
  osVersions: readonly string[],
  others: readonly ImagePart[] = [],
): Promise<string> {
  const parts = [...others];
  for (const osVersion of osVersions) {
    const layer = join(scratch.path, `${name}-${osVersion}.layer`);
    await writeLayer(
      layer,
      [
        { kind: 'directory', path: 'Hives' },
        { kind: 'file', path: 'Files/version.txt', data: osVersion },
      ],
      { windows: true },
    );
    parts.push({ os: 'windows', architecture: 'amd64', osVersion, config: {}, layers: [layer] } as const);
  }
  const file = join(scratch.path, `${name}.tar`);
  await writeImageArchive(file, `porthole.local/test/${name}:1`, parts);
  return file;
}
const load = (file: string, ...more: string[]): ReturnType<TestCluster['porthole']> =>
  cluster.porthole(['image', 'load', '--name', cluster.name, ...more, file], { timeoutMs: 60_000 });
const podOf = (
  name: string,
  image = `porthole.local/test/${name}:1`,
  imagePullPolicy = 'IfNotPresent',
): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeSelector: { 'kubernetes.io/os': 'windows' },
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image,
          imagePullPolicy,
          command: ['cmd', '/c', 'type C:\\version.txt'],
        },
      ],
    },
  });
const waiting = (name: string): Promise<{ readonly reason: string; readonly message: string }> =>
  kubectl.until(['pod', name], (pod: PodView) => {
    const state = pod.status.containerStatuses?.[0]?.state.waiting;
    assert.ok(state && state.reason !== 'ContainerCreating', JSON.stringify(pod.status));
    return state;
  });

test(
  'an image for another Windows is refused, with the reason; forced in, its pod shows what Windows says',
  limit,
  async () => {
    const file = await archive('newer', ['10.0.26100.1']);
    const refused = await load(file);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /no node can run this image/);
    assert.match(refused.stderr, /not into linux-1: it is for windows\/amd64, the node is linux\/amd64/);
    assert.match(refused.stderr, /not into windows-1: The container operating system does not match/);
    assert.doesNotMatch(refused.stderr, /at .*\.ts:/, 'no stack trace');

    const forced = await load(file, '--node', 'windows-1');
    assert.equal(forced.code, 0, forced.stderr);
    await kubectl.apply(podOf('newer'));
    const { reason, message } = await waiting('newer');
    assert.match(reason, /^(CreateContainerError|ErrImagePull|ImagePullBackOff)$/);
    assert.match(message, /The container operating system does not match the host operating system/);
    assert.match(message, /0xc0370101/);
    assert.match(
      message,
      /It runs on a node with windows-build 10\.0\.26100 \(Windows Server 2025 Datacenter\)/,
    );
  },
);

test('of an index the newest entry that fits the node runs', limit, async () => {
  const file = await archive('several', [
    '10.0.17763.8146',
    '10.0.20348.1',
    '10.0.25398.7',
    '10.0.25398.10',
    '10.0.26100.1',
  ]);
  const loaded = await load(file);
  assert.equal(loaded.code, 0, loaded.stderr);
  assert.match(loaded.stdout, /windows-1 +porthole\.local\/test\/several:1/);
  await kubectl.apply(podOf('several'));
  await kubectl.ok(['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/several', '--timeout=40s']);
  assert.equal(await kubectl.ok(['logs', 'several']), '10.0.25398.10');
});

test('archives that are broken or hostile are refused by the command line', limit, async () => {
  const hostile = async (name: string, path: string, more: object = {}): Promise<string> => {
    const layer = join(scratch.path, `${name}.layer`);
    await writeLayer(layer, [{ kind: 'file', path, data: 'x', ...more }]);
    const file = join(scratch.path, `${name}.tar`);
    await writeImageArchive(file, `porthole.local/test/${name}:1`, [
      { os: 'windows', architecture: 'amd64', osVersion: '10.0.25398.1', config: {}, layers: [layer] },
    ]);
    return file;
  };
  const link = { kind: 'symlink', target: '../../../../etc' };
  const truncated = join(scratch.path, 'truncated.tar');
  copyFileSync(await archive('whole', ['10.0.25398.1']), truncated);
  truncateSync(truncated, 1000);
  const text = join(scratch.path, 'text.tar');
  appendFileSync(text, 'this is no archive');
  const cases: readonly (readonly [string, RegExp])[] = [
    [await hostile('dots', 'Files/../../../etc/evil'), /leaves the layer/],
    [await hostile('absolute', 'Files/app', { kind: 'symlink', target: '/etc' }), /"\/etc" is absolute/],
    [await hostile('link', 'Files/app', link), /leaves|outside/],
    [await hostile('linux-path', 'etc/evil'), /"etc" is not below Files/],
    [truncated, /archive/],
    [text, /archive/],
    [join(scratch.path, 'missing.tar'), /there is no file/],
  ];
  for (const [file, reason] of cases) {
    const { code, stdout, stderr } = await load(file, '--node', 'windows-1');
    assert.equal(code, 1, file);
    assert.match(stdout + stderr, reason);
    assert.doesNotMatch(stderr, /\n +at /, 'no stack trace');
  }
  const images = await cluster.porthole(['image', 'ls', '--name', cluster.name]);
  assert.doesNotMatch(images.stdout, /test\/(dots|absolute|link|linux-path)/);
});

describe('an index at a registry', { timeout: 200_000 }, () => {
  const registry = `localhost:${registryPort}`;
  const push = async (file: string, repository: string): Promise<string> =>
    pushArchive(file, `http://${registry}/v2/${repository}`, '1');
  const onNode = (...args: readonly string[]): Promise<string> => {
    const { containerdSocket } = nodeLayout(clusterPaths(cluster.home, cluster.name).node('windows-1'));
    return ctr(linuxProcesses, containerdSocket, args);
  };
  let made = 0;
  /** What a pod of the image says. */
  async function says(image: string, policy: string): Promise<string> {
    const name = `pulled-${++made}`;
    await kubectl.apply(podOf(name, image, policy));
    await kubectl.ok(['wait', '--for=jsonpath={.status.phase}=Succeeded', `pod/${name}`, '--timeout=50s']);
    return kubectl.ok(['logs', name]);
  }

  test('gives the newest entry that fits the build: by tag, by digest, by both, and when it is asked for again', async () => {
    const versions = ['10.0.17763.8146', '10.0.25398.10', '10.0.20348.1', '10.0.25398.7', '10.0.26100.1'];
    const digest = await push(await archive('pushed', versions), 'team/pushed');
    assert.equal(await says(`${registry}/team/pushed:1`, 'IfNotPresent'), '10.0.25398.10');
    assert.equal(await says(`${registry}/team/pushed@${digest}`, 'IfNotPresent'), '10.0.25398.10');
    assert.equal(await says(`${registry}/team/pushed:1@${digest}`, 'Always'), '10.0.25398.10');
    assert.equal(await says(`${registry}/team/pushed:1`, 'Always'), '10.0.25398.10');
    // Another index under the same name.
    await push(await archive('pushed-again', ['10.0.20348.2', '10.0.17763.1']), 'team/pushed');
    assert.equal(await says(`${registry}/team/pushed:1`, 'Always'), '10.0.20348.2');
    assert.equal(await says(`${registry}/team/pushed:1`, 'Never'), '10.0.20348.2');
  });

  test('for Linux as well gives a Windows node its Windows, and takes nobody else’s image of the same content', async () => {
    const layer = join(scratch.path, 'linux.layer');
    await writeLayer(layer, [{ kind: 'file', path: 'version.txt', data: 'linux' }]);
    const linux = { os: 'linux', architecture: 'amd64', config: {}, layers: [layer] } as const;
    const others = 'porthole.local/others/linux:1';
    const otherArchive = join(scratch.path, 'others.tar');
    await writeImageArchive(otherArchive, others, [linux]);
    await onNode('images', 'import', '--platform', 'linux/amd64', otherArchive);
    const listed = async (): Promise<string> =>
      (await cluster.porthole(['image', 'ls', '--name', cluster.name])).stdout;
    assert.match(await listed(), /windows-1 +porthole\.local\/others\/linux:1/);
    await push(await archive('mixed', ['10.0.17763.1', '10.0.20348.1'], [linux]), 'team/mixed');
    assert.equal(await says(`${registry}/team/mixed:1`, 'IfNotPresent'), '10.0.20348.1');
    assert.equal(await says(`${registry}/team/mixed:1`, 'Always'), '10.0.20348.1');
    const stdout = await listed();
    assert.equal(stdout.match(/windows-1 +\S+team\/mixed\S+/g)?.length, 2, stdout);
    assert.match(stdout, /windows-1 +porthole\.local\/others\/linux:1/);
  });

  test('of which the entry is gone when it is asked for again leaves the node what it had', async () => {
    const layer = join(scratch.path, 'half.layer');
    await writeLayer(layer, [{ kind: 'file', path: 'version.txt', data: 'linux' }]);
    const linux = { os: 'linux', architecture: 'amd64', config: {}, layers: [layer] } as const;
    const index = await push(await archive('half', ['10.0.20348.1'], [linux]), 'team/half');
    const image = `${registry}/team/half:1`;
    assert.equal(await says(image, 'IfNotPresent'), '10.0.20348.1');
    const blob = (digest: string): string => {
      const hex = digest.replace('sha256:', '');
      const data = join(clusterPaths(cluster.home, cluster.name).registry, 'data/docker/registry/v2');
      return join(data, 'blobs/sha256', hex.slice(0, 2), hex, 'data');
    };
    const { manifests } = JSON.parse(readFileSync(blob(index), 'utf8')) as {
      manifests: { digest: string; platform: { os: string } }[];
    };
    rmSync(blob(manifests.find(({ platform }) => platform.os === 'windows')!.digest));
    await kubectl.apply(podOf('half', image, 'Always'));
    assert.match((await waiting('half')).reason, /^(ErrImagePull|ImagePullBackOff)$/);
    assert.equal(await says(image, 'Never'), '10.0.20348.1');
    await kubectl.ok(['delete', 'pod', 'half', '--wait=false']);
  });

  test('that has nothing for the build is refused in containerd’s words, with what there is', async () => {
    await push(await archive('unfit', ['10.0.17763.1', '10.0.26100.1']), 'team/unfit');
    const image = `${registry}/team/unfit:1`;
    await kubectl.apply(podOf('unfit', image));
    const { message } = await waiting('unfit');
    assert.ok(
      message.includes(
        `failed to pull and unpack image "${image}": no match for platform in manifest: not found`,
      ),
      message,
    );
    assert.match(
      message,
      /no matching manifest for windows\/amd64 10\.0\.25398 in the manifest list entries: it offers windows\/amd64 10\.0\.17763\.1, windows\/amd64 10\.0\.26100\.1\./,
    );
    await kubectl.ok(['delete', 'pod', 'unfit', '--wait=false']);
  });

  test('leaves nothing behind that would keep content for ever', async () => {
    assert.equal(await onNode('leases', 'ls', '-q'), '');
  });
});
