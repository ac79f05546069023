// A pod that exchanges a folder of its volume with a link to / while its containers mount that folder by subPath.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { configmaps } from '../../src/api/generated/resources.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { createLinuxMounts } from '../../src/os/linux/mounts-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';

const limit = { timeout: 240_000 };
let node: KubeletNode;
before(async () => {
  node = await startKubeletNode();
  const source = fileURLToPath(new URL('./programs/swap.c', import.meta.url));
  const program = await buildNative(linuxProcesses, portholeCache(), {
    name: 'swap',
    target: 'linux',
    source,
  });
  await node.client.create(configmaps, {
    metadata: { name: 'swap', namespace: 'default' },
    binaryData: { swap: readFileSync(program).toString('base64') },
  });
}, limit);
after(() => node?.close(), limit);

const volumes = [
  { name: 'v', emptyDir: {} },
  { name: 'swap', configMap: { name: 'swap', defaultMode: 0o755 } },
];
const whole = { name: 'v', mountPath: '/v' };
const run = (name: string, script: string, more: object): object => ({
  name,
  image: node.image,
  command: ['/bin/sh', '-c', `trap "exit 0" TERM; ${script}`],
  ...more,
});

const victims = Array.from({ length: 16 }, (_, i) => `v${i}`);
const logOf = async (container: string): Promise<string> =>
  (await node.request(`/containerLogs/default/race/${container}`)).text;
const pins = async (): Promise<readonly string[]> =>
  (await createLinuxMounts(linuxProcesses).list())
    .map((m) => m.target)
    .filter((target) => target.includes('/volume-subpaths/'));

test(
  'of many containers with a subPath that is swapped with a link to /, none sees the machine',
  limit,
  async () => {
    await node.create('race', {
      volumes,
      initContainers: [
        run('prepare', 'mkdir -m 777 /v/d && touch /v/d/mine && ln -s / /v/l', { volumeMounts: [whole] }),
        run('swap', 'exec /swap/swap /v d l', {
          restartPolicy: 'Always',
          volumeMounts: [whole, { name: 'swap', mountPath: '/swap' }],
        }),
      ],
      containers: victims.map((name) =>
        run(name, `ls -A /sub; touch /sub/written-by-${name}; while true; do sleep 0.1; done`, {
          volumeMounts: [{ name: 'v', mountPath: '/sub', subPath: name === 'v0' ? 'd/new/er' : 'd' }],
        }),
      ),
    });
    const looked = await eventually(
      async () => {
        const { status } = await node.get('race');
        const running = (status?.containerStatuses ?? []).filter((s) => s.state?.running).map((s) => s.name);
        assert.ok(running.length >= victims.length / 2, JSON.stringify(status?.containerStatuses));
        return running;
      },
      { timeoutMs: 180_000, everyMs: 200 },
    );
    for (const name of looked) {
      const seen = await eventually(async () => {
        const text = await logOf(name);
        if (name !== 'v0') assert.notEqual(text, '', 'the container has not looked yet');
        return text.split('\n').filter((line) => line !== '');
      });
      const own = /^(mine|new|written-by-.*)$/;
      assert.deepEqual(
        seen.filter((line) => !own.test(line)),
        [],
        `${name} sees what is not its own`,
      );
    }
    const refusals = ((await node.get('race')).status?.containerStatuses ?? []).flatMap((s) =>
      s.state?.waiting?.message === undefined ? [] : [s.state.waiting.message],
    );
    for (const message of refusals) {
      assert.match(
        message,
        /^failed to (prepare subPath|create subPath directory) for volumeMount "v" of container "v\d+"$/,
      );
    }
    await node.remove('race');
    assert.deepEqual(await pins(), []);
  },
);

test(
  'a subPath file of a ConfigMap, a folder that is missing and a restarted agent leave no mounts',
  limit,
  async () => {
    await node.create('plain', {
      volumes,
      containers: [
        run('main', 'stat -c %a /new; wc -c < /one; touch /new/x; ls /v/a; while true; do sleep 0.1; done', {
          volumeMounts: [
            whole,
            { name: 'v', mountPath: '/new', subPath: 'a/b' },
            { name: 'swap', mountPath: '/one', subPath: 'swap' },
          ],
        }),
      ],
    });
    await node.until('plain', 'runs', (pod) => pod.status?.phase === 'Running');
    await eventually(async () => {
      const { text } = await node.request('/containerLogs/default/plain/main');
      assert.match(text, /^777\n\d{4,}\nb\n$/);
    });
    await eventually(async () => assert.deepEqual(await pins(), []));
    await node.restartAgent();
    await node.remove('plain');
    assert.deepEqual(await pins(), []);
  },
);
