// Pods that fill their node's disk, with real containers: who exceeds a limit is evicted, and when the disk runs short who takes most.
import assert from 'node:assert/strict';
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { events, nodes } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { parseThresholds } from '../../src/kubelet/eviction/thresholds.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';
import { emptyImage } from '../harness/windows-test-images.ts';

const limits = { thresholds: parseThresholds('nodefs.available<60Mi') };
const node: KubeletNode = await startKubeletNode({ diskMegabytes: 200, limits });
after(() => node.close());

const pod = (script: string, container: object = {}, emptyDir: object = {}): object => ({
  terminationGracePeriodSeconds: 30,
  containers: [
    {
      name: 'main',
      image: node.image,
      command: ['/bin/sh', '-c', `${script}; while true; do sleep 1; done`],
      volumeMounts: [{ name: 'x', mountPath: '/x' }],
      ...container,
    },
  ],
  volumes: [{ name: 'x', emptyDir }],
});

/** Looks are ten seconds apart, and the runtime's own figures of containers as old. */
const untilEvicted = (name: string, on = node): Promise<Pod> =>
  eventually(
    async () => {
      const found = await on.get(name);
      assert.deepEqual([found.status?.phase, found.status?.reason], ['Failed', 'Evicted']);
      return found;
    },
    { timeoutMs: 90_000 },
  );

test('pods over a limit of their own are evicted with upstream’s message, and what they wrote is gone', async () => {
  const limits = { resources: { limits: { 'ephemeral-storage': '2Mi' } } };
  const write = (file: string): string => `dd if=/dev/zero of=${file} bs=1M count=4`;
  await node.create('within', pod('echo hello > /x/a', {}, { sizeLimit: '1Mi' }));
  await node.create('volume', pod(write('/x/a'), {}, { sizeLimit: '1Mi' }));
  await node.create('layer', pod(write('/a'), limits));
  await node.create('log', pod('yes 0123456789012345678901234567890 | head -n 100000', limits));
  await node.create('words', pod(write('/dev/termination-log'), limits));
  // The runtime walks a layer by paths, and a path can't say so much: it tells nothing of that layer.
  const folder = 'd'.repeat(64);
  const deep = `i=0; while [ $i -lt 100 ]; do mkdir ${folder}; cd ${folder}; i=$((i+1)); done`;
  await node.create('deep', pod(`${deep}; ${write('a')}`, limits));
  const volume = await untilEvicted('volume');
  assert.equal(volume.status?.message, 'Usage of EmptyDir volume "x" exceeds the limit "1Mi". ');
  for (const name of ['layer', 'log', 'words']) {
    const { status } = await untilEvicted(name);
    assert.equal(
      status?.message,
      'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ',
    );
  }
  assert.equal(
    (await untilEvicted('deep')).status?.message,
    "Usage of local ephemeral storage could not be measured: the runtime can't count what container main wrote. ",
  );
  const told = (await node.client.list(events)).items.filter((event) => event.reason === 'Evicted');
  assert.deepEqual(told.map((event) => [event.involvedObject.name, event.type]).sort(), [
    ['deep', 'Warning'],
    ['layer', 'Warning'],
    ['log', 'Warning'],
    ['volume', 'Warning'],
    ['words', 'Warning'],
  ]);
  assert.equal((await node.get('within')).status?.phase, 'Running');
  const { uid } = volume.metadata;
  const file = join(node.directory, 'kubelet/pods', uid!, 'volumes/kubernetes.io~empty-dir/x/a');
  await eventually(async () => {
    const ofPod = { labelSelector: { 'io.kubernetes.pod.uid': uid! } };
    assert.deepEqual([existsSync(file), await node.cri.runtime.listContainers(ofPod)], [false, []]);
  });
  await node.restartAgent();
  await eventually(async () =>
    assert.equal(
      (await node.get('within')).status?.conditions?.find((c) => c.type === 'Ready')?.status,
      'True',
    ),
  );
  assert.deepEqual((await node.get('volume')).status, volume.status);
});

test('a node whose disk runs short says so, evicts who takes most, takes no pod, and has room again', async (context) => {
  await node.create('small', pod('dd if=/dev/zero of=/x/a bs=1M count=10'));
  await node.create('large', pod('while true; do dd if=/dev/zero of=/x/$RANDOM$RANDOM bs=1M count=10; done'));
  const { status } = await untilEvicted('large');
  assert.match(
    status?.message ?? '',
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: 60Mi, available: \d+(Ki|Mi)?\. /,
  );
  const target = status?.conditions?.find((condition) => condition.type === 'DisruptionTarget');
  assert.deepEqual([target?.status, target?.reason], ['True', 'TerminationByKubelet']);
  await eventually(() => {
    const { bavail, bsize } = statfsSync(join(node.directory, 'kubelet'));
    assert.ok(bavail * bsize > 150 << 20, 'what it wrote is there');
  });
  context.diagnostic(status?.message ?? '');
  assert.equal((await node.get('small')).status?.phase, 'Running');
  await eventually(async () => {
    const { status: shown } = await node.client.get(nodes, { name: 'node-1' });
    const pressure = shown?.conditions?.find((condition) => condition.type === 'DiskPressure');
    assert.deepEqual([pressure?.status, pressure?.reason], ['True', 'KubeletHasDiskPressure']);
  });
  await node.create('late', pod('true'));
  const late = await untilEvicted('late');
  assert.equal(late.status?.message, 'Pod was rejected: The node had condition: [DiskPressure]. ');
});

test('pods of an emulated Windows node keep to their limits, too', async (t) => {
  const image = await emptyImage();
  const windows = await startKubeletNode({ windowsBuild: 20348, images: [image] });
  t.after(() => windows.close());
  const write = (file: string): string =>
    `(for /L %i in (1,1,3000) do @echo 0123456789012345678901234567890123456789>>${file}) & ping -n 1000 127.0.0.1`;
  const program = (file: string, more: object = {}): object => ({
    containers: [{ name: 'main', image: image.reference, command: ['cmd', '/c', write(file)], ...more }],
  });
  await windows.create('volume', {
    ...program('C:\\x\\a', { volumeMounts: [{ name: 'x', mountPath: 'C:\\x' }] }),
    volumes: [{ name: 'x', emptyDir: { sizeLimit: '64Ki' } }],
  });
  const resources = { limits: { 'ephemeral-storage': '64Ki' } };
  await windows.create('layer', program('C:\\a', { resources }));
  const messages = await Promise.all(
    ['volume', 'layer'].map(async (name) => (await untilEvicted(name, windows)).status?.message),
  );
  assert.deepEqual(messages, [
    'Usage of EmptyDir volume "x" exceeds the limit "64Ki". ',
    'Pod ephemeral local storage usage exceeds the total limit of containers 64Ki. ',
  ]);
});
