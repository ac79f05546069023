// What a container's configuration says to the runtime, and in whose name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWindowsNodeOs } from '../node-os/windows.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { containerConfig } from './container-config.ts';

const nodeOs = createWindowsNodeOs({
  build: 20348,
  osImage: 'Windows Server 2022 Datacenter',
  kernelVersion: '10.0.20348.4405',
  emulated: true,
  hostDrive: '/drive-c',
});

test("a pod's annotations are not those of its containers: what the handler reads is the kubelet's", () => {
  const container = aContainer('main', {
    securityContext: { windowsOptions: { runAsUserName: 'ContainerUser' } },
  });
  const pod = aPod({ containers: [container] });
  const annotations = { 'porthole.dev/run-as-username': 'SYSTEM', 'porthole.dev/host-process': 'true' };
  const config = containerConfig({
    pod: { ...pod, metadata: { ...pod.metadata, annotations } },
    container,
    attempt: 0,
    image: {},
    environment: new Map(),
    mounts: [],
    nodeOs,
    seccompRoot: '',
    nodeMemoryBytes: 8 << 30,
    nodeCpuCount: 4,
  });
  const ours = Object.entries(config.annotations ?? {}).filter(([name]) => name.startsWith('porthole.dev/'));
  assert.deepEqual(ours, [['porthole.dev/run-as-username', 'ContainerUser']]);
});
