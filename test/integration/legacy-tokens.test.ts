// Tokens that lie in Secrets: who fills them, whom they speak for, what is noted of their use, and when they are no good any more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configmaps, pods, secrets, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { Secret } from '../../src/api/generated/types/core-v1.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { signJwt } from '../../src/crypto/jwt.ts';
import { generatePrivateKey } from '../../src/crypto/keys.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'default';
const wanted = (name: string, account: string): Secret => ({
  metadata: { name, namespace, annotations: { 'kubernetes.io/service-account.name': account } },
  type: 'kubernetes.io/service-account-token',
});
const text = (secret: Secret, key: string): string =>
  Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

test('a Secret of an account gets a token that the server believes while the Secret holds it', async (t) => {
  const { client, server, until } = await startCluster(t);
  await client.create(serviceaccounts, { metadata: { name: 'robot', namespace } });
  const account = await until(serviceaccounts, (list) => list.get('robot', namespace), 'the account');
  await client.create(secrets, wanted('robot-token', 'robot'));
  const filled = (name: string) =>
    until(
      secrets,
      (list) => {
        const secret = list.get(name, namespace);
        return (secret?.data?.['token'] ?? '') !== '' && secret;
      },
      'the token',
    );
  const secret = await filled('robot-token');
  assert.deepEqual([text(secret, 'ca.crt'), text(secret, 'namespace')], ['PEM', namespace]);
  assert.equal(secret.metadata.annotations?.['kubernetes.io/service-account.uid'], account.metadata?.uid);
  const token = text(secret, 'token');
  assert.deepEqual(JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()), {
    iss: 'kubernetes/serviceaccount',
    'kubernetes.io/serviceaccount/namespace': namespace,
    'kubernetes.io/serviceaccount/secret.name': 'robot-token',
    'kubernetes.io/serviceaccount/service-account.name': 'robot',
    'kubernetes.io/serviceaccount/service-account.uid': account.metadata?.uid,
    sub: 'system:serviceaccount:default:robot',
  });

  const who = await server.ask('POST', reviews, {}, { token });
  assert.equal(who.status, 201, who.text);
  assert.deepEqual((who.body.status as { userInfo: unknown }).userInfo, {
    username: 'system:serviceaccount:default:robot',
    uid: account.metadata?.uid,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
  });
  assert.deepEqual(who.warnings, []);
  const today = new Date().toISOString().slice(0, 10);
  await until(
    secrets,
    (list) =>
      list.get('robot-token', namespace)?.metadata.labels?.['kubernetes.io/legacy-token-last-used'] === today,
    'the day of its use',
  );

  // Listed by its account: nobody asked for it.
  const { secrets: none = [], ...rest } = await client.get(serviceaccounts, { name: 'robot', namespace });
  assert.deepEqual(none, []);
  await client.update(serviceaccounts, { ...rest, secrets: [{ name: 'robot-token' }] });
  const warned = await server.ask('POST', reviews, {}, { token });
  assert.deepEqual(warned.warnings, [
    '299 - "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens."',
  ]);
  const label = (value: string | null) =>
    client.patch(
      secrets,
      { name: 'robot-token', namespace },
      {
        type: 'merge',
        body: { metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': value } } },
      },
    );
  await label(today);
  assert.equal((await server.ask('POST', reviews, {}, { token })).status, 401);
  const told = await server.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } });
  assert.match(
    (told.body.status as { error: string }).error,
    /the token in secret default\/robot-token for service account default\/robot has been marked invalid\. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the 'kubernetes\.io\/legacy-token-invalid-since' label/,
  );
  await label(null);
  assert.equal((await server.ask('POST', reviews, {}, { token })).status, 201);
  const metrics = (await server.metrics.text()).text;
  const count = (name: string): number =>
    Number(new RegExp(`^serviceaccount_${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
  assert.deepEqual(
    ['legacy_tokens_total', 'legacy_manual_token_uses_total', 'legacy_auto_token_uses_total'].map(count),
    [5, 1, 2],
  );
  assert.equal(count('invalid_legacy_auto_token_uses_total'), 2);

  // Its account goes, and it with it.
  await client.delete(serviceaccounts, { name: 'robot', namespace });
  await until(secrets, (list) => list.get('robot-token', namespace) === undefined, 'the end of the Secret');
  assert.equal((await server.ask('POST', reviews, {}, { token })).status, 401);
});

test('a Secret of no account goes; one of another type is nobody’s business', async (t) => {
  const { client, until } = await startCluster(t);
  await client.create(secrets, wanted('orphan', 'nobody'));
  await client.create(secrets, { ...wanted('plain', 'nobody'), type: 'Opaque' });
  await until(secrets, (list) => list.get('plain', namespace), 'the other');
  await until(secrets, (list) => list.get('orphan', namespace) === undefined, 'the end of the orphan');
  await client.create(serviceaccounts, { metadata: { name: 'robot', namespace } });
  const stale = wanted('stale', 'robot');
  await client.create(secrets, {
    ...stale,
    metadata: {
      ...stale.metadata,
      annotations: { ...stale.metadata.annotations, 'kubernetes.io/service-account.uid': 'another' },
    },
  });
  await until(secrets, (list) => list.get('stale', namespace) === undefined, 'the end of the stale one');
  assert.equal((await client.get(secrets, { name: 'plain', namespace })).data, undefined);
});

test('what is signed and lies in no Secret, or says more than its Secret, speaks for nobody', async (t) => {
  const { client, server, until } = await startCluster(t, { disabled: ['serviceaccount-token-controller'] });
  const account = await client.create(serviceaccounts, { metadata: { name: 'robot', namespace } });
  await client.create(serviceaccounts, { metadata: { name: 'other', namespace } });
  const prefix = 'kubernetes.io/serviceaccount/';
  const claims = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
    iss: 'kubernetes/serviceaccount',
    sub: 'system:serviceaccount:default:robot',
    [`${prefix}namespace`]: namespace,
    [`${prefix}secret.name`]: 's',
    [`${prefix}service-account.name`]: 'robot',
    [`${prefix}service-account.uid`]: account.metadata?.uid,
    ...more,
  });
  const key = server.pki.serviceAccountKey;
  const status = async (token: string): Promise<number> =>
    (await server.ask('POST', reviews, {}, { token })).status;
  const held = async (token: string): Promise<void> => {
    try {
      await client.delete(secrets, { name: 's', namespace });
    } catch (error) {
      assert.ok(isStatusError(error, 'NotFound'));
    }
    await client.create(secrets, {
      ...wanted('s', 'robot'),
      data: { token: Buffer.from(token).toString('base64') },
    });
    await until(
      secrets,
      (list) => text(list.get('s', namespace) ?? { metadata: { name: '' } }, 'token') === token,
      'it',
    );
  };
  const good = signJwt(key, claims());
  assert.equal(await status(good), 401, 'it lies in no Secret');
  await held(good);
  assert.equal(await status(good), 201);
  assert.equal(await status(signJwt(key, claims({ iat: 1 }))), 401, 'another than the one that lies there');
  const forged: Record<string, string> = {
    'of another key': signJwt(generatePrivateKey(), claims()),
    'for another account': signJwt(key, claims({ sub: 'system:serviceaccount:default:other' })),
    'of an account that was before': signJwt(key, claims({ [`${prefix}service-account.uid`]: 'old' })),
    'of another Secret': signJwt(key, claims({ [`${prefix}secret.name`]: 't' })),
    'of no namespace': signJwt(key, claims({ [`${prefix}namespace`]: '' })),
    'of a list of names': signJwt(key, claims({ [`${prefix}secret.name`]: ['s'] })),
    'of nobody': signJwt(key, { iss: 'kubernetes/serviceaccount' }),
    'with an end': signJwt(key, claims({ exp: 9_999_999_999 })),
  };
  for (const [what, token] of Object.entries(forged)) {
    await held(token);
    assert.equal(await status(token), 401, what);
  }
  await held(good);
  // It names no audience: it is for this server, and nobody else.
  const review = (audiences: string[]) =>
    server.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: good, audiences } });
  const { authenticated = false } = (await review(['vault'])).body.status as { authenticated?: boolean };
  assert.equal(authenticated, false);
  await client.delete(secrets, { name: 's', namespace });
  assert.equal(await status(good), 401, 'its Secret is gone');
});

test('a token that its account lists and nobody uses is marked, and one that was marked long ago goes; mounted ones stay', async (t) => {
  const { client, server, until } = await startCluster(t, { legacyTokenCleanUpMs: 1 });
  const map = {
    name: 'kube-apiserver-legacy-service-account-token-tracking',
    namespace: 'kube-system',
  };
  const since = (await client.get(configmaps, map)).data?.['since'] ?? '';
  assert.match(since, /^\d{4}-\d{2}-\d{2}$/);
  await client.patch(configmaps, map, { type: 'merge', body: { data: { since: '2020-01-01' } } });
  await until(
    configmaps,
    (list) => list.get(map.name, map.namespace)?.data?.['since'] === '2020-01-01',
    'the day',
  );
  const names = ['unused', 'old', 'mounted', 'asked-for'];
  await client.create(serviceaccounts, {
    metadata: { name: 'robot', namespace },
    secrets: names.filter((name) => name !== 'asked-for').map((name) => ({ name })),
  });
  await until(serviceaccounts, (list) => list.get('robot', namespace), 'the account');
  await client.create(pods, {
    metadata: { name: 'p', namespace },
    spec: {
      serviceAccountName: 'robot',
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', secret: { secretName: 'mounted' } }],
    },
  });
  await until(pods, (list) => list.get('p', namespace), 'the pod');
  const invalid = 'kubernetes.io/legacy-token-invalid-since';
  for (const name of names) {
    const secret = wanted(name, 'robot');
    const labels = name === 'unused' ? {} : { [invalid]: '2020-01-02' };
    await client.create(secrets, { ...secret, metadata: { ...secret.metadata, labels } });
  }
  const today = new Date().toISOString().slice(0, 10);
  await until(
    secrets,
    (list) => list.get('unused', namespace)?.metadata.labels?.[invalid] === today,
    'the mark',
  );
  await until(secrets, (list) => list.get('old', namespace) === undefined, 'the end of the old one');
  for (const name of ['mounted', 'asked-for'])
    assert.equal((await server.ask('GET', `/api/v1/namespaces/default/secrets/${name}`)).status, 200, name);
});
