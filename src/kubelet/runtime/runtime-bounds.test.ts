// What a pod may grow to in the runtime, which lists all pods in one answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerConfig, PodSandboxConfig } from '../../rpc-api/generated/cri-v1.ts';
import { maxGrpcMessageBytes } from '../../wire/grpc-client.ts';
import { containerdConfig } from '../containerd/containerd-config.ts';
import { createLinuxNodeOs } from '../node-os/linux.ts';
import { createWindowsNodeOs } from '../node-os/windows.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { containerConfig } from './container-config.ts';
import { sandboxConfig } from './sandbox-config.ts';

const systems = [
  createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' }),
  createWindowsNodeOs({
    osImage: 'Windows',
    kernelVersion: '10.0',
    build: 20348,
    emulated: true,
    hostDrive: '/drive-c',
  }),
];
const long = 'x'.repeat(200_000);
const container = aContainer('main', { terminationMessagePath: `/${long}` });
const large = {
  ...aPod({ containers: [container] }),
  metadata: {
    ...aPod().metadata,
    annotations: { note: long, 'porthole.dev/simulated-exit-code': long },
    labels: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`label-${i}`, 'y'.repeat(63)])),
  },
};

/** As lists have it. */
const listed = ({ metadata, labels, annotations }: PodSandboxConfig | ContainerConfig): string =>
  JSON.stringify({ metadata, labels, annotations });

test('what users write on a pod is in no list of the runtime: a few pods made those too long to be sent', () => {
  for (const nodeOs of systems) {
    const sandbox = sandboxConfig({
      pod: large,
      attempt: 0,
      logDirectory: '/logs',
      cgroupParent: '',
      dns: { servers: [], domain: 'cluster.local', host: { servers: [], searches: [], options: [] } },
      nodeOs,
    });
    assert.deepEqual(sandbox.labels, {
      'io.kubernetes.pod.name': 'p',
      'io.kubernetes.pod.namespace': 'ns',
      'io.kubernetes.pod.uid': 'uid-1',
    });
    const made = containerConfig({
      pod: large,
      container,
      attempt: 0,
      image: { id: 'sha256:x' },
      environment: new Map(),
      mounts: [],
      nodeOs,
      seccompRoot: '',
      nodeMemoryBytes: 1e9,
      nodeCpuCount: 2,
    });
    for (const config of [sandbox, made])
      assert.ok(
        listed(config).length < 1000,
        `${nodeOs.nodeInfo.operatingSystem}: ${listed(config).slice(0, 2000)}`,
      );
  }
});

test('containerd sends and takes as long a message as the kubelet', () => {
  const paths = { root: '/r', state: '/s', address: '/a', cniBinDir: '/b', cniConfDir: '/c' };
  for (const version of ['1.6.20', 'v2.1.0']) {
    const text = containerdConfig({ ...paths, sandboxImage: 'pause' }, version);
    const [, grpc = ''] = /^\[grpc\]\n((?: .*\n)*)/m.exec(text) ?? [];
    for (const way of ['recv', 'send'])
      assert.match(grpc, new RegExp(`^ {2}max_${way}_message_size = ${maxGrpcMessageBytes}$`, 'm'), version);
  }
});
