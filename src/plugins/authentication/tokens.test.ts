// Service account tokens live as long as what they are bound to; bootstrap tokens follow their secret.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods, secrets, serviceaccounts } from '../../api/generated/resources.ts';
import type { TokenAuthenticator } from '../../apiserver/authentication/token-authenticator.ts';
import { signJwt, verificationKey } from '../../crypto/jwt.ts';
import { generatePrivateKey } from '../../crypto/keys.ts';
import { fixedLiveObjects } from '../testing/fixed-live-objects.ts';
import { createBootstrapTokenAuthenticator } from './bootstrap-token-authenticator.ts';
import { createServiceAccountTokenAuthenticator } from './service-account-token-authenticator.ts';
import { fixedKeys } from './tokens/token-keys.ts';

let now = 1_800_000_000_000;
const clock = {
  now: () => now,
  monotonic: () => now,
  sleep: () => Promise.resolve(),
  timer: () => () => {},
};
const issuer = 'https://kubernetes.default.svc.cluster.local';
const key = generatePrivateKey();

const verdict = async (tokens: TokenAuthenticator, token: string, audiences = [issuer]): Promise<string> => {
  const answer = await tokens.authenticateToken(token, audiences);
  if (answer === undefined) return 'no opinion';
  return 'user' in answer ? `${answer.user.name} ${answer.user.groups.join(',')}` : answer.refused;
};

test('a bound token ends with its pod, its account, its time and its audience', async () => {
  const live = fixedLiveObjects();
  live.put(serviceaccounts, { metadata: { name: 'robot', namespace: 'a', uid: 'sa-1' } });
  live.put(pods, { metadata: { name: 'web', namespace: 'a', uid: 'pod-1' }, spec: { containers: [] } });
  const tokens = createServiceAccountTokenAuthenticator({
    live,
    clock,
    issuers: [issuer],
    keys: fixedKeys([verificationKey(key)]),
  });
  const token = signJwt(key, {
    iss: issuer,
    sub: 'system:serviceaccount:a:robot',
    aud: [issuer, 'vault'],
    exp: now / 1000 + 3600,
    jti: 'id-1',
    'kubernetes.io': {
      namespace: 'a',
      serviceaccount: { name: 'robot', uid: 'sa-1' },
      pod: { name: 'web', uid: 'pod-1' },
      node: { name: 'n1', uid: 'node-1' },
    },
  });
  const good = 'system:serviceaccount:a:robot system:serviceaccounts,system:serviceaccounts:a';
  const gone = 'service account token has been invalidated';
  assert.equal(await verdict(tokens, token), good);
  const answer = await tokens.authenticateToken(token, ['vault', 'else']);
  assert.deepEqual(answer, {
    user: {
      name: 'system:serviceaccount:a:robot',
      uid: 'sa-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:a'],
      extra: {
        'authentication.kubernetes.io/credential-id': ['JTI=id-1'],
        'authentication.kubernetes.io/node-name': ['n1'],
        'authentication.kubernetes.io/node-uid': ['node-1'],
        'authentication.kubernetes.io/pod-name': ['web'],
        'authentication.kubernetes.io/pod-uid': ['pod-1'],
      },
    },
    audiences: ['vault'],
  });
  assert.match(await verdict(tokens, token, ['else']), /is invalid for the target audiences/);
  live.put(pods, { metadata: { name: 'web', namespace: 'a', uid: 'pod-2' }, spec: { containers: [] } });
  assert.equal(await verdict(tokens, token), gone);
  live.put(pods, {
    metadata: {
      name: 'web',
      namespace: 'a',
      uid: 'pod-1',
      deletionTimestamp: new Date(now).toISOString(),
    },
    spec: { containers: [] },
  });
  assert.equal(await verdict(tokens, token), good);
  now += 61_000;
  assert.equal(await verdict(tokens, token), gone);
  now -= 61_000;
  live.put(serviceaccounts, { metadata: { name: 'robot', namespace: 'a', uid: 'sa-2' } });
  assert.equal(await verdict(tokens, token), gone);
  live.put(serviceaccounts, { metadata: { name: 'robot', namespace: 'a', uid: 'sa-1' } });
  now += 3_601_000;
  assert.equal(await verdict(tokens, token), 'service account token has expired');
  assert.equal(await verdict(tokens, 'x.y.z'), 'no opinion');
});

test('a bootstrap token needs the right secret, type, use and time', async () => {
  const live = fixedLiveObjects();
  const tokens = createBootstrapTokenAuthenticator({ live, clock });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const put = (data: Record<string, string>, type = 'bootstrap.kubernetes.io/token'): void =>
    live.put(secrets, {
      metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
      type,
      data: Object.fromEntries(
        Object.entries({
          'token-id': 'abcdef',
          'token-secret': '0123456789abcdef',
          'usage-bootstrap-authentication': 'true',
          ...data,
        }).map(([name, text]) => [name, base64(text)]),
      ),
    });
  const token = 'abcdef.0123456789abcdef';
  put({ 'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token' });
  assert.equal(
    await verdict(tokens, token),
    'system:bootstrap:abcdef system:bootstrappers,system:bootstrappers:kubeadm:default-node-token',
  );
  assert.match(await verdict(tokens, 'abcdef.0123456789abcdee'), /is wrong/);
  put({ 'auth-extra-groups': 'system:masters' });
  assert.match(await verdict(tokens, token), /not allowed/);
  put({ expiration: new Date(now - 1000).toISOString() });
  assert.match(await verdict(tokens, token), /expired/);
  for (const expiration of ['soon', '9999', 'Jan 1, 9999', '9999-01-01', '9999-02-30T00:00:00Z']) {
    put({ expiration });
    assert.match(await verdict(tokens, token), /expired/, expiration);
  }
  put({ expiration: '9999-01-01T00:00:00+01:00' });
  assert.match(await verdict(tokens, token), /^system:bootstrap:abcdef/);
  put({ 'usage-bootstrap-authentication': 'false' });
  assert.match(await verdict(tokens, token), /not for authentication/);
  put({}, 'Opaque');
  assert.match(await verdict(tokens, token), /another type/);
  assert.equal(await verdict(tokens, '../../x.0123456789abcdef'), 'no opinion');
});
