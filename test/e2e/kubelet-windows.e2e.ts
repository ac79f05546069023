// The kubelet in its Windows guise: real Windows programs in real containers, with the rules of a Windows node.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configmaps, nodes } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';
import { emptyImage } from '../harness/windows-test-images.ts';

let node: KubeletNode;
let image: string;
before(async () => {
  const empty = await emptyImage();
  image = empty.reference;
  node = await startKubeletNode({ windowsBuild: 20348, images: [empty] });
  await eventually(async () => {
    const { status } = await node.client.get(nodes, { name: 'node-1' });
    assert.equal(status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
  });
});
after(() => node?.close());

const cmd = (line: string, more: object = {}): object => ({
  name: 'main',
  image,
  command: ['cmd', '/c', line],
  ...more,
});
const ended = (name: string): Promise<Pod> =>
  node.until(name, 'ended', (p) => p.status?.containerStatuses?.[0]?.state?.terminated !== undefined);
const log = async (name: string): Promise<string> =>
  (await node.request(`/containerLogs/default/${name}/main`)).text;

test('a Windows program sees its variables, a ConfigMap below C: and the build of its node', async () => {
  await node.client.create(configmaps, {
    metadata: { name: 'cm', namespace: 'default' },
    data: { greeting: 'hello' },
  });
  await node.create('prog', {
    restartPolicy: 'Never',
    os: { name: 'windows' },
    containers: [
      cmd('echo %X%& type C:\\etc\\cm\\greeting& ver', {
        env: [{ name: 'X', value: 'value' }],
        volumeMounts: [{ name: 'cm', mountPath: 'C:\\etc\\cm' }],
      }),
    ],
    volumes: [{ name: 'cm', configMap: { name: 'cm' } }],
  });
  const pod = await ended('prog');
  const text = await log('prog');
  assert.equal(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 0, text);
  assert.match(text, /value/);
  assert.match(text, /hello/);
  assert.match(text, /10\.0\.20348/);
});

test('an exit code has all its 32 bits', async () => {
  await node.create('code', { restartPolicy: 'Never', containers: [cmd('exit 1000')] });
  const pod = await ended('code');
  assert.equal(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 1000);
  assert.equal(pod.status?.phase, 'Failed');
});

test('a Linux image and a pod for Linux are refused with the reason', async () => {
  await node.create('elf', { containers: [{ name: 'main', image: node.image, command: ['/bin/true'] }] });
  const pod = await node.until(
    'elf',
    'waits',
    (p) => p.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerError',
  );
  assert.match(
    pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '',
    /image operating system "linux" cannot be used/,
  );
  await node.create('penguin', { os: { name: 'linux' }, containers: [cmd('ver')] });
  const refused = await node.until('penguin', 'failed', (p) => p.status?.phase === 'Failed');
  assert.equal(refused.status?.reason, 'PodOSNotSupported');
});

test('a Windows pod is deleted within its grace', async () => {
  await node.create('long', {
    terminationGracePeriodSeconds: 5,
    containers: [cmd('ping -n 1000 127.0.0.1')],
  });
  await node.until('long', 'runs', (p) => p.status?.phase === 'Running');
  for (const name of ['long', 'elf', 'penguin', 'prog', 'code']) await node.remove(name);
});
