// Secrets sealed in the store of a real server: nothing plain on disk or in a backup, keys that rotate, keys that are lost.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { secrets } from '../../src/api/generated/resources.ts';
import type { Secret } from '../../src/api/generated/types/core-v1.ts';
import { readAll } from '../../src/client/transport.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import type { Logger } from '../../src/component-base/logger.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const password = 'hunter2-is-not-a-good-password';
const base64 = Buffer.from(password).toString('base64');
const aes = (kind: string, name: string, byte: number): string =>
  `{${kind}: {keys: [{name: ${name}, secret: "${Buffer.alloc(32, byte).toString('base64')}"}]}}`;
const [one, two, plain] = [aes('aesgcm', 'one', 1), aes('aescbc', 'two', 2), '{identity: {}}'];

function bytesBelow(folder: string): string {
  let all = '';
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name);
    if (statSync(path).isFile()) all += readFileSync(path, 'latin1');
  }
  return all;
}

function keeper() {
  const scratch = scratchDirectory('encryption-at-rest');
  const file = join(scratch.path, 'encryption.yaml');
  const dataDir = join(scratch.path, 'data');
  const errors: Record<string, unknown>[] = [];
  const log: Logger = {
    ...silentLogger,
    error: (fields) => void errors.push(fields as never),
    child: () => log,
  };
  const start = async (...providers: string[]): Promise<RunningServer> => {
    writeFileSync(
      file,
      `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], providers: [${providers.join(', ')}]}]}`,
    );
    return startServer({
      dataDir,
      securePort: 0,
      bindAddress: '127.0.0.1',
      log,
      encryptionProviderConfig: file,
    });
  };
  return { scratch, dataDir, errors, start, stored: () => bytesBelow(join(dataDir, 'db')) };
}

const asked = async (server: RunningServer, path: string): Promise<readonly [number, string]> => {
  const { status, body } = await inProcessTransport(server.controlPlane.handle, administrator).request({
    method: 'GET',
    path,
    headers: {},
  });
  return [status, (await readAll(body, 50_000_000)).toString('latin1')];
};
const ask = async (server: RunningServer, path: string): Promise<string> => (await asked(server, path))[1];
const clientOf = (server: RunningServer) => server.controlPlane.clientFor(administrator);
const named = { namespace: 'default', name: 's' };
const shown = async (server: RunningServer): Promise<string | undefined> =>
  (await clientOf(server).get<Secret>(secrets, named)).data?.['password'];
const writeAgain = async (server: RunningServer): Promise<unknown> =>
  clientOf(server).update(secrets, await clientOf(server).get<Secret>(secrets, named));

test('a Secret lies sealed on disk and in backups, moves to a new key when it is written again, and back to plain', async (t) => {
  const { scratch, start, stored } = keeper();
  t.after(() => scratch.remove());
  let server = await start(one, plain);
  const metadata = named;
  await clientOf(server).create(secrets, { metadata, data: { password: base64 } } as unknown as Secret);
  assert.equal(await shown(server), base64);
  const backup = await ask(server, '/porthole/backup');
  assert.ok(backup.includes('k8s:enc:aesgcm:v1:one:') && !backup.includes(base64));
  await server.stop();
  assert.ok(stored().includes('k8s:enc:aesgcm:v1:one:'));
  assert.ok(!stored().includes(base64) && !stored().includes(password));

  server = await start(two, one);
  assert.equal(await shown(server), base64);
  await writeAgain(server);
  await server.stop();
  assert.ok(stored().includes('k8s:enc:aescbc:v1:two:'));

  server = await start(plain, two);
  assert.equal(await shown(server), base64);
  await writeAgain(server);
  await server.stop();
  server = await start(plain);
  assert.equal(await shown(server), base64);
  await server.stop();
});

/** Nothing of it is served, and nobody is told that it is gone. */
async function isRefused(server: RunningServer, why: string): Promise<void> {
  const messageOf = async (path: string): Promise<readonly [number, string]> => {
    const [status, text] = await asked(server, path);
    return [status, (JSON.parse(text) as { message: string }).message];
  };
  const secretsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;
  const list = `Internal error occurred: unable to transform key "/registry/secrets/default/s": ${why}`;
  for (const path of [
    '/api/v1/secrets',
    secretsOf('default'),
    `${secretsOf('default')}?watch=1&resourceVersion=0`,
  ])
    assert.deepEqual(await messageOf(path), [500, list], path);
  assert.deepEqual(await messageOf(`${secretsOf('default')}/s`), [
    500,
    `Internal error occurred: StorageError: corrupt object, Code: 7, Key: /registry/secrets/default/s, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: ${why}`,
  ]);
  assert.equal((await asked(server, secretsOf('kube-system')))[0], 200, 'nothing of it is there');
  assert.equal((await asked(server, '/api/v1/configmaps'))[0], 200);
  await assert.rejects(clientOf(server).delete(secrets, named), /is not transformable/);
  await assert.rejects(
    clientOf(server).create(secrets, { metadata: named } as unknown as Secret),
    /already exists/,
  );
}

test('a Secret whose key is gone is an error where it is read, told by its key in the store, and comes back with it', async (t) => {
  const { scratch, start, errors } = keeper();
  t.after(() => scratch.remove());
  let server = await start(one);
  await clientOf(server).create(secrets, {
    metadata: named,
    data: { password: base64 },
  } as unknown as Secret);
  await server.stop();
  server = await start(aes('aesgcm', 'one', 9), plain);
  assert.ok(
    errors.some(
      ({ key, error }) =>
        key === '/registry/core/secrets/default/s' && /authentication failed/.test(String(error)),
    ),
  );
  await isRefused(server, 'cipher: message authentication failed');
  await server.stop();
  server = await start(aes('secretbox', 'one', 9), plain);
  await isRefused(server, 'no matching prefix found');
  await server.stop();
  server = await start(one);
  assert.equal(await shown(server), base64);
  await server.stop();
});

test('a plain Secret is none where identity is no provider, and moves to the first key where it is', async (t) => {
  const { scratch, start, stored } = keeper();
  t.after(() => scratch.remove());
  let server = await start(plain);
  await clientOf(server).create(secrets, {
    metadata: named,
    data: { password: base64 },
  } as unknown as Secret);
  await server.stop();
  const box = aes('secretbox', 'box', 3);
  server = await start(box);
  await isRefused(server, 'no matching prefix found');
  await server.stop();
  server = await start(box, plain);
  await writeAgain(server);
  await server.stop();
  assert.ok(stored().includes('k8s:enc:secretbox:v1:box:'));
  server = await start(box);
  assert.equal(await shown(server), base64);
  await server.stop();
});

test('a configuration that is wrong or not there stops the start', async (t) => {
  const { scratch, start, dataDir } = keeper();
  t.after(() => scratch.remove());
  await assert.rejects(
    start('{secretbox: {keys: [{name: k, secret: AAAA}]}}'),
    /error while parsing file ".*encryption.yaml": .*"REDACTED": secret is not of the expected length, got 3, expected one of \[32\]/,
  );
  const gone = {
    dataDir,
    securePort: 0,
    log: silentLogger,
    encryptionProviderConfig: join(scratch.path, 'none'),
  };
  await assert.rejects(startServer({ ...gone, bindAddress: '127.0.0.1' }), /ENOENT/);
});
