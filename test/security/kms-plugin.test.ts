// A KMS plugin that lies, hangs, answers without end or is gone: Secrets fail in words, nothing else is touched, and no key is told.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configmaps, secrets } from '../../src/api/generated/resources.ts';
import type { ConfigMap, Secret } from '../../src/api/generated/types/core-v1.ts';
import { readAll } from '../../src/client/transport.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { type KmsPlugin, kmsPlugin } from '../harness/kms-plugin.ts';
import { scratchDirectory } from '../harness/scratch.ts';

function keeper() {
  const scratch = scratchDirectory('kms-hostile');
  const plugin = kmsPlugin(join(scratch.path, 'kms.sock'));
  const file = join(scratch.path, 'encryption.yaml');
  writeFileSync(
    file,
    `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], providers: [{kms: {apiVersion: v2, name: vault, endpoint: "${plugin.endpoint}", timeout: 1s}}]}]}`,
  );
  const start = (): Promise<RunningServer> =>
    startServer({
      dataDir: join(scratch.path, 'data'),
      securePort: 0,
      bindAddress: '127.0.0.1',
      log: silentLogger,
      encryptionProviderConfig: file,
    });
  return { scratch, plugin, start };
}

async function ask(server: RunningServer, path: string): Promise<readonly [number, string]> {
  const { status, body } = await inProcessTransport(server.controlPlane.handle, administrator).request({
    method: 'GET',
    path,
    headers: {},
  });
  return [status, (await readAll(body, 10_000_000)).toString()];
}
const clientOf = (server: RunningServer) => server.controlPlane.clientFor(administrator);
const write = (server: RunningServer, name: string): Promise<unknown> =>
  clientOf(server).create(secrets, { metadata: { namespace: 'default', name } } as Secret);

/** Whatever the plugin does, the rest of the API is served. */
async function isAlive(server: RunningServer, name: string): Promise<void> {
  const from = performance.now();
  await clientOf(server).create(configmaps, { metadata: { namespace: 'default', name } } as ConfigMap);
  assert.ok(performance.now() - from < 900, 'nobody waits for the plugin');
}

/** Starts with a plugin that does `what` to questions for keys; what the Secret of before is answered with. */
async function readBeside(
  plugin: KmsPlugin,
  start: () => Promise<RunningServer>,
  what: KmsPlugin['decrypting'],
): Promise<string> {
  plugin.decrypting = what;
  const server = await start();
  try {
    const [status, text] = await ask(server, '/api/v1/namespaces/default/secrets/a');
    assert.equal(status, 500, text);
    assert.equal((await ask(server, '/api/v1/secrets'))[0], 500);
    return text;
  } finally {
    await server.stop();
    plugin.decrypting = undefined;
  }
}

test('wrong keys, no keys, endless keys and no answer are errors of the Secret alone', async (t) => {
  const { scratch, plugin, start } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  const server = await start();
  await write(server, 'a');
  await server.stop();
  const cases: [KmsPlugin['decrypting'], RegExp][] = [
    [() => ({ plaintext: Buffer.alloc(32, 7) }), /cipher: message authentication failed/],
    [() => ({ plaintext: Buffer.alloc(5) }), /invalid seed length 5 used for key generation/],
    [() => ({}), /invalid seed length 0 used for key generation/],
    [
      () => ({ plaintext: Buffer.alloc(5 << 20) }),
      /failed to decrypt DEK, error: rpc error: code = ResourceExhausted desc = /,
    ],
    [() => new Promise(() => {}), /failed to decrypt DEK, error: rpc error: code = DeadlineExceeded desc = /],
    [
      () => {
        throw new Error('x'.repeat(5_000));
      },
      /failed to decrypt DEK, error: rpc error: code = Internal desc = x{1024}(?!x)/,
    ],
  ];
  for (const [what, message] of cases) assert.match(await readBeside(plugin, start, what), message);
  const again = await start();
  assert.equal((await ask(again, '/api/v1/namespaces/default/secrets/a'))[0], 200);
  await again.stop();
});

test('what a plugin that is well refused to open is read as soon as it opens it, before it is asked again how it is', async (t) => {
  const { scratch, plugin, start } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  const first = await start();
  await write(first, 'a');
  await first.stop();
  plugin.decrypting = () => {
    throw new Error('sealed');
  };
  const server = await start();
  t.after(() => server.stop());
  assert.equal((await ask(server, '/api/v1/secrets'))[0], 500);
  const asked = plugin.calls.status;
  plugin.decrypting = undefined;
  await eventually(async () => assert.equal((await ask(server, '/api/v1/secrets'))[0], 200));
  assert.equal(plugin.calls.status, asked);
});

test('a plugin that names keys it has not, hangs, floods or is gone stops no write of others, nor what was opened before', async (t) => {
  const { scratch, plugin, start } = keeper();
  t.after(() => {
    plugin.stop();
    scratch.remove();
  });
  await plugin.listen();
  const server = await start();
  await write(server, 'a');
  const why = async (): Promise<string> => (await ask(server, '/readyz/kms-providers'))[1];
  const flood = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, i) => [`a${i}.example.com`, Buffer.alloc(0)]),
  );
  const turns: [string, () => void, RegExp][] = [
    [
      'names',
      () => {
        plugin.stating = () => ({ version: 'v2', healthz: 'ok', key_id: 'none of mine' });
        plugin.encrypting = () => ({ ciphertext: Buffer.alloc(8), key_id: 'another' });
      },
      /failed to rotate DEK uid=/,
    ],
    [
      'floods',
      () => {
        plugin.encrypting = () => ({
          ciphertext: Buffer.alloc(8),
          key_id: 'none of mine',
          annotations: flood,
        });
      },
      /ResourceExhausted|annotations are too large/,
    ],
    [
      'huge',
      () => {
        plugin.stating = () => ({ version: 'v2', healthz: 'x'.repeat(1 << 20), key_id: 'k' });
      },
      /code = ResourceExhausted/,
    ],
    [
      'hangs',
      () => {
        plugin.stating = () => new Promise(() => {});
      },
      /code = DeadlineExceeded/,
    ],
    ['gone', () => plugin.stop(), /code = (Unavailable|DeadlineExceeded)/],
  ];
  for (const [name, begin, message] of turns) {
    begin();
    await eventually(async () => assert.match(await why(), message));
    await isAlive(server, name);
    await write(server, name);
    assert.equal((await ask(server, '/api/v1/secrets'))[0], 200);
  }
  await server.stop();
});
