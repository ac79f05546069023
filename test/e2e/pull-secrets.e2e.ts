// imagePullSecrets with real containerd and a registry over TLS that asks for a password.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { events, secrets } from '../../src/api/generated/resources.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { busyboxImage, linuxSampleImages } from '../../src/images/sample-images.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
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
  const folder = join(node.directory, 'certs.d', registry.host);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'ca.crt'), registry.ca);
  const at = `https://${registry.host}`;
  writeFileSync(
    join(folder, 'hosts.toml'),
    `server = "${at}"\n[host."${at}"]\n  capabilities = ["pull", "resolve"]\n  ca = "${join(folder, 'ca.crt')}"\n`,
  );
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

/** A pod of its own repository, so that nothing is on the node already. */
async function pod(id: string, auths: Auths, old = false): Promise<void> {
  const type = old ? 'kubernetes.io/dockercfg' : 'kubernetes.io/dockerconfigjson';
  const content = JSON.stringify(old ? auths : { auths });
  await node.client.create(secrets, {
    metadata: { name: id, namespace: 'default' },
    type,
    data: { [old ? '.dockercfg' : '.dockerconfigjson']: Buffer.from(content).toString('base64') },
  });
  await node.create(id, {
    imagePullSecrets: [{ name: id }],
    containers: [
      {
        name: 'main',
        image: `${registry.host}/team/${id}:1`,
        imagePullPolicy: 'Always',
        command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.1; done'],
      },
    ],
  });
}

describe('U1: a pull secret whose key is', () => {
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
