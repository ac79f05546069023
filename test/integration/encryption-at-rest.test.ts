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

const ask = async (server: RunningServer, path: string): Promise<string> => {
  const { body } = await inProcessTransport(server.controlPlane.handle, administrator).request({
    method: 'GET',
    path,
    headers: {},
  });
  return (await readAll(body, 50_000_000)).toString('latin1');
};
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

test('a Secret whose key is gone is told by its key in the store, and comes back with it', async (t) => {
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
  await assert.rejects(clientOf(server).create(secrets, { metadata: named } as unknown as Secret));
  await server.stop();
  server = await start(one);
  assert.equal(await shown(server), base64);
  await server.stop();
});

test('a configuration that is wrong or not there stops the start', async (t) => {
  const { scratch, start, dataDir } = keeper();
  t.after(() => scratch.remove());
  await assert.rejects(
    start('{secretbox: {keys: []}}'),
    /error while parsing file ".*encryption.yaml": .*not supported yet/,
  );
  const gone = {
    dataDir,
    securePort: 0,
    log: silentLogger,
    encryptionProviderConfig: join(scratch.path, 'none'),
  };
  await assert.rejects(startServer({ ...gone, bindAddress: '127.0.0.1' }), /ENOENT/);
});
