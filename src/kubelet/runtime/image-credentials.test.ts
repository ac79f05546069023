// Who may pull an image: a pod by its secrets, and by what the node knows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '../../api/generated/types/core-v1.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { aPod } from '../testing/observed-builder.ts';
import { type CredentialSources, imageCredentials } from './image-credentials.ts';

const config = (username: string): string =>
  JSON.stringify({ auths: { 'r.example': { username, password: 'p' } } });
const secret: Secret = {
  metadata: { name: 's', namespace: 'default', uid: 'u' },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(config('own')).toString('base64') },
} as Secret;
const pod = aPod({ imagePullSecrets: [{ name: 's' }] });

async function users(image: string, registryLogins: CredentialSources['registryLogins']): Promise<unknown[]> {
  const sources = { objects: { secret: async () => secret }, registryLogins, log: silentLogger };
  return (await imageCredentials(sources, pod, image)).map(({ auth }) => auth?.username);
}

test("a pod's own passwords are tried before those of its node", async () => {
  assert.deepEqual(await users('r.example/a:1', async () => config('node')), ['own', 'node']);
  assert.deepEqual(await users('other.example/a:1', async () => config('node')), []);
});

test('passwords of the node that cannot be read take none of the others with them', async () => {
  const unreadable = (): Promise<never> =>
    Promise.reject(new Error('EISDIR: illegal operation on a directory'));
  assert.deepEqual(await users('r.example/a:1', unreadable), ['own']);
  assert.deepEqual(await users('other.example/a:1', unreadable), [], 'a public image');
});

test('of what is no name of an image nothing is read', async () => {
  assert.deepEqual(await users('No Image', () => assert.fail('read')), []);
});
