// imagePullSecrets with real containerd and a registry over TLS that asks for a password.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { events, namespaces, pods, secrets } from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { busyboxImage, linuxSampleImages } from '../../src/images/sample-images.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';
import { startTestRegistry, type TestRegistry } from '../harness/registry.ts';

const limit = { timeout: 120_000 };
const user = 'robot:se:cret';
let node: KubeletNode;
let registry: TestRegistry;
before(async () => {
  node = await startKubeletNode();
  const nativeDir = fileURLToPath(new URL('../../native', import.meta.url));
  const samples = await linuxSampleImages({
    processes: linuxProcesses,
    cacheDir: portholeCache(),
    nativeDir,
  });
  registry = await startTestRegistry(samples.find((s) => s.reference === busyboxImage)!.file, user);
  registry.configure(join(node.directory, 'certs.d'));
}, limit);
after(async () => {
  await registry?.close();
  await node?.close();
}, limit);

const [name, password] = ['robot', 'se:cret'];
const plain = { username: name, password };
const joined = { auth: Buffer.from(user).toString('base64') };
const wrong = { username: name, password: 'wrong' };
type Auths = Readonly<Record<string, object>>;

const forever = { command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.1; done'] };

async function createSecret(id: string, auths: Auths, old = false, namespace = 'default'): Promise<void> {
  const type = old ? 'kubernetes.io/dockercfg' : 'kubernetes.io/dockerconfigjson';
  const content = JSON.stringify(old ? auths : { auths });
  await node.client.create(secrets, {
    metadata: { name: id, namespace },
    type,
    data: { [old ? '.dockercfg' : '.dockerconfigjson']: Buffer.from(content).toString('base64') },
  });
}

/** A pod of its own repository, so that nothing is on the node already. */
async function pod(id: string, auths: Auths, old = false): Promise<void> {
  await createSecret(id, auths, old);
  await node.create(id, {
    imagePullSecrets: [{ name: id }],
    containers: [
      {
        name: 'main',
        image: `${registry.host}/team/${id}:1`,
        imagePullPolicy: 'Always',
        ...forever,
      },
    ],
  });
}

describe('a pull secret whose key is', () => {
  const forms: readonly (readonly [what: string, (host: string) => Auths, old?: boolean])[] = [
    ['host and port', (host) => ({ [host]: plain })],
    ['a URL', (host) => ({ [`https://${host}`]: joined })],
    ['a URL with /v1/', (host) => ({ [`https://${host}/v1/`]: plain })],
    ['a URL with /v2/', (host) => ({ [`http://${host}/v2/`]: joined })],
    ['a path of the registry', (host) => ({ [`${host}/team`]: plain })],
    ['a pattern', (host) => ({ [host.replace('127', '*')]: joined })],
    ['one of several, and another one is wrong', (host) => ({ [`${host}/team`]: wrong, [host]: plain })],
    ['in a dockercfg', (host) => ({ [host]: joined }), true],
  ];
  for (const [i, [what, auths, old]] of forms.entries()) {
    test(`${what} opens the registry`, limit, async () => {
      await pod(`fits-${i}`, auths(registry.host), old);
      await node.until(`fits-${i}`, 'runs', (p) => p.status?.phase === 'Running');
      assert.ok(registry.asked.includes(`${user} team/fits-${i}`));
    });
  }

  const others: readonly (readonly [what: string, (host: string) => Auths])[] = [
    ['another port', () => ({ '127.0.0.1:1': plain })],
    ['another path', (host) => ({ [`${host}/other`]: plain })],
    ['another host', () => ({ 'registry.example.com': plain })],
  ];
  for (const [i, [what, auths]] of others.entries()) {
    test(`for ${what} is not sent`, limit, async () => {
      await pod(`not-${i}`, auths(registry.host));
      const seen = await node.until(`not-${i}`, 'is refused', (p) =>
        /^(ErrImagePull|ImagePullBackOff)$/.test(
          p.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? '',
        ),
      );
      assert.match(
        seen.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '',
        /401 Unauthorized|authorization failed/,
      );
      assert.deepEqual(
        [...new Set(registry.asked.filter((who) => who.endsWith(`team/not-${i}`)))],
        [` team/not-${i}`],
      );
    });
  }

  test('right is not told in any event', limit, async () => {
    const texts = (await node.client.list(events)).items.map((event) => event.message ?? '');
    assert.ok(texts.length > 0);
    assert.deepEqual(
      texts.filter((text) => text.includes(password) || text.includes(joined.auth)),
      [],
    );
  });
});

describe('an image that is on the node because one tenant had a secret for it', () => {
  const repository = 'team/private';
  const image = (): string => `${registry.host}/${repository}:1`;
  const asked = (): number => registry.asked.filter((who) => who.endsWith(` ${repository}`)).length;

  async function podOf(
    namespace: string,
    name: string,
    imagePullPolicy: string,
    ...own: readonly string[]
  ): Promise<void> {
    await node.client.create(pods, {
      metadata: { name, namespace },
      spec: {
        nodeName: 'node-1',
        terminationGracePeriodSeconds: 1,
        imagePullSecrets: own.map((name) => ({ name })),
        containers: [{ name: 'main', image: image(), imagePullPolicy, ...forever }],
      },
    });
  }
  const isRunning = (namespace: string, name: string): Promise<void> =>
    eventually(
      async () => {
        const { status } = await node.client.get(pods, { name, namespace });
        assert.equal(status?.phase, 'Running', JSON.stringify(status));
      },
      { timeoutMs: 20_000 },
    );
  /** The message with which it waits. */
  const refused = (namespace: string, name: string, reason: string): Promise<string> =>
    eventually(
      async () => {
        const { status } = await node.client.get(pods, { name, namespace });
        const waiting = status?.containerStatuses?.[0]?.state?.waiting;
        assert.equal(waiting?.reason, reason, JSON.stringify(status));
        return waiting.message ?? '';
      },
      { timeoutMs: 20_000, everyMs: 20 },
    );
  async function gone(namespace: string, name: string): Promise<void> {
    await node.client.delete(pods, { name, namespace });
    await eventually(() =>
      assert.rejects(node.client.get(pods, { name, namespace }), (error) => isStatusError(error, 'NotFound')),
    );
  }
  const notPresent = (): string => `Container image "${image()}" is not present with pull policy of Never`;

  before(async () => {
    await node.client.create(namespaces, { metadata: { name: 'other' }, spec: {} });
    await createSecret('private', { [registry.host]: plain });
    await podOf('default', 'owner', 'IfNotPresent', 'private');
    await isRunning('default', 'owner');
  }, limit);

  test("is not another tenant's: without a secret, with a wrong one, or never pulling", limit, async () => {
    await createSecret('wrong', { [registry.host]: wrong }, false, 'other');
    const before = asked();
    await podOf('other', 'without', 'IfNotPresent');
    assert.match(await refused('other', 'without', 'ErrImagePull'), /401 Unauthorized|authorization failed/);
    await podOf('other', 'with-wrong', 'IfNotPresent', 'wrong');
    assert.match(
      await refused('other', 'with-wrong', 'ErrImagePull'),
      /401 Unauthorized|authorization failed/,
    );
    assert.ok(asked() > before, 'the registry was asked');
    // They would go on asking.
    for (const name of ['without', 'with-wrong']) await gone('other', name);
    await podOf('other', 'never', 'Never');
    assert.equal(await refused('other', 'never', 'ErrImageNeverPull'), notPresent());
  });

  test(
    'is its own again, without asking the registry, also for an agent that was started anew',
    limit,
    async () => {
      const before = asked();
      await podOf('default', 'second', 'IfNotPresent', 'private');
      await isRunning('default', 'second');
      await node.restartAgent();
      await podOf('default', 'third', 'Never', 'private');
      await isRunning('default', 'third');
      await podOf('other', 'still-never', 'Never');
      assert.equal(await refused('other', 'still-never', 'ErrImageNeverPull'), notPresent());
      assert.equal(asked(), before);
    },
  );

  test('opens to whoever has a secret that says the same', limit, async () => {
    await createSecret('right', { [registry.host]: joined }, false, 'other');
    const before = asked();
    await podOf('other', 'with-right', 'Never', 'right');
    await isRunning('other', 'with-right');
    assert.equal(asked(), before);
  });

  test('is on record without its password', () => {
    const folder = join(node.directory, 'kubelet/image_manager/pulled');
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    assert.ok(texts.some((text) => text.includes(`${registry.host}/${repository}`)));
    assert.deepEqual(
      texts.filter((text) => text.includes(password) || text.includes(joined.auth)),
      [],
    );
  });
});
