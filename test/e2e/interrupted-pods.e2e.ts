// With real containerd, a deletion interrupts what is done for its pod: a pull that stalls, hooks that hang, a longer grace.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { events, pods } from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { busyboxImage, linuxSampleImages } from '../../src/images/sample-images.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type * as v1 from '../../src/rpc-api/generated/cri-v1.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';
import { startTestRegistry, type TestRegistry } from '../harness/registry.ts';

const limit = { timeout: 120_000 };
/** A grace of a second, and what a busy machine takes for the rest. None of the pods here would end within ten minutes. */
const soon = { timeoutMs: 15_000, everyMs: 50 };
const minutes = 600;

let node: KubeletNode;
let registry: TestRegistry;
before(async () => {
  node = await startKubeletNode();
  const nativeDir = fileURLToPath(new URL('../../native', import.meta.url));
  const cacheDir = portholeCache();
  const samples = await linuxSampleImages({ processes: linuxProcesses, cacheDir, nativeDir });
  registry = await startTestRegistry(samples.find((s) => s.reference === busyboxImage)!.file, '');
  registry.configure(join(node.directory, 'certs.d'));
}, limit);
after(async () => {
  await registry?.close();
  await node?.close();
}, limit);

/** A program that does not listen to SIGTERM. */
const deaf = ['/bin/sh', '-c', 'trap "" TERM; while true; do sleep 0.1; done'];
const hangs = { exec: { command: ['/bin/sleep', '3600'] } };

const create = (name: string, container: object): Promise<unknown> =>
  node.create(name, {
    terminationGracePeriodSeconds: minutes,
    containers: [{ name: 'main', image: node.image, command: deaf, ...container }],
  });
const remove = (name: string, gracePeriodSeconds?: number): Promise<unknown> =>
  node.client.delete(
    pods,
    { name, namespace: 'default' },
    gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
  );
const running = async (name: string): Promise<readonly v1.Container[]> =>
  (await node.cri.runtime.listContainers({ labelSelector: { 'io.kubernetes.pod.name': name } })).filter(
    (c) => c.state === 'CONTAINER_RUNNING',
  );
/** What its events say. */
const said = async (name: string): Promise<string> =>
  (await node.client.list(events)).items
    .filter((e) => e.involvedObject.name === name)
    .map((e) => e.message)
    .join('\n');
const untilRunning = (name: string): Promise<void> =>
  eventually(async () => assert.equal((await running(name)).length, 1));

/** Nobody knows it any more: neither the API nor the runtime. */
const untilGone = (name: string): Promise<void> =>
  eventually(async () => {
    await assert.rejects(node.get(name), (error) => isStatusError(error, 'NotFound'));
    const ofPod = { labelSelector: { 'io.kubernetes.pod.name': name } };
    assert.deepEqual(await node.cri.runtime.listPodSandbox(ofPod), []);
    assert.deepEqual(await node.cri.runtime.listContainers(ofPod), []);
  }, soon);

test(
  'a pod whose registry stalls goes when it is deleted, and containerd leaves the registry',
  limit,
  async () => {
    registry.stall('team/slow');
    await create('slow', { image: `${registry.host}/team/slow:1` });
    await eventually(() => assert.ok(registry.waited.has('team/slow')));
    await remove('slow', 1);
    await untilGone('slow');
    await eventually(() => assert.ok(!registry.waited.has('team/slow')), soon);
  },
);

test('a pull that a deleted pod shared goes on for the other one', limit, async () => {
  registry.stall('team/shared');
  for (const name of ['first', 'second']) await create(name, { image: `${registry.host}/team/shared:1` });
  await eventually(() => assert.ok(registry.waited.has('team/shared')));
  for (const name of ['first', 'second'])
    await eventually(async () => assert.match(await said(name), /Pulling image/));
  await remove('first', 1);
  await untilGone('first');
  assert.ok(registry.waited.has('team/shared'));
  await remove('second', 1);
  await untilGone('second');
  await eventually(() => assert.ok(!registry.waited.has('team/shared')), soon);
});

test('a pod whose postStart hangs goes when it is deleted', limit, async () => {
  await create('hook', { lifecycle: { postStart: hangs } });
  await untilRunning('hook');
  await remove('hook', 1);
  await untilGone('hook');
});

test(
  'a container that is replaced ends with the grace of the deletion that comes meanwhile',
  limit,
  async () => {
    await create('replaced', {});
    await untilRunning('replaced');
    const other = { spec: { containers: [{ name: 'main', image: `${node.image}-other` }] } };
    await node.client.patch(
      pods,
      { name: 'replaced', namespace: 'default' },
      { type: 'strategic', body: other },
    );
    await eventually(async () => assert.match(await said('replaced'), /definition changed/));
    await remove('replaced', 1);
    await untilGone('replaced');
  },
);

test(
  'a second deletion with a shorter grace is what counts, for a program that does not listen and a preStop that hangs',
  limit,
  async () => {
    await create('deaf', {});
    await create('hooked', { lifecycle: { preStop: hangs } });
    for (const name of ['deaf', 'hooked']) {
      await untilRunning(name);
      await remove(name);
      await eventually(async () => assert.match(await said(name), /Stopping container main/));
      await remove(name, 1);
      await untilGone(name);
    }
  },
);

test('what is deleted by force ends, although the API does not know it any more', limit, async () => {
  await create('forced', {});
  await untilRunning('forced');
  await remove('forced');
  await remove('forced', 0);
  await untilGone('forced');
});
