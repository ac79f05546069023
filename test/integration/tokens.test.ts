// Service account tokens from request to use, on the real server.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const accounts = '/api/v1/namespaces/default/serviceaccounts';
await ask('POST', accounts, { metadata: { name: 'default' } });
await ask('POST', accounts, { metadata: { name: 'robot' } });
const issuer = 'https://kubernetes.default.svc.cluster.local';

const request = (spec: object): object => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  spec,
});
const tokenOf = (answer: { body: Record<string, unknown> }): string =>
  (answer.body.status as { token: string }).token;
const whoAmI = async (token: string): Promise<unknown> => {
  const answer = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { token });
  return answer.status === 201 ? (answer.body.status as { userInfo: unknown }).userInfo : answer.status;
};

test('a token speaks for its account and its pod until the pod is gone', async () => {
  const pod = await ask('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'p' },
    spec: {
      serviceAccountName: 'robot',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'c', image: 'i' }],
    },
  });
  const { uid } = pod.body.metadata as { uid: string };
  const answer = await ask(
    'POST',
    `${accounts}/robot/token`,
    request({ expirationSeconds: 3607, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid } }),
  );
  assert.equal(answer.status, 201, answer.text);
  const token = tokenOf(answer);
  const info = (await whoAmI(token)) as {
    username: string;
    groups: string[];
    extra: Record<string, string[]>;
  };
  assert.equal(info.username, 'system:serviceaccount:default:robot');
  assert.deepEqual(info.groups, [
    'system:serviceaccounts',
    'system:serviceaccounts:default',
    'system:authenticated',
  ]);
  assert.deepEqual(info.extra['authentication.kubernetes.io/pod-uid'], [uid]);
  await ask('DELETE', '/api/v1/namespaces/default/pods/p');
  assert.equal(await whoAmI(token), 401);
});

test('a token for somebody else does not open this server, but is reviewed for them', async () => {
  const token = tokenOf(await ask('POST', `${accounts}/robot/token`, request({ audiences: ['vault'] })));
  assert.equal(await whoAmI(token), 401);
  const review = async (audiences: string[]): Promise<Record<string, unknown>> =>
    (await ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } })).body
      .status as Record<string, unknown>;
  const good = await review(['vault', 'x']);
  assert.deepEqual([good.authenticated, good.audiences], [true, ['vault']]);
  const bad = await review([issuer]);
  assert.equal(bad.authenticated, undefined);
});

test('times, bindings and names that can not be are refused', async () => {
  const refusal = async (spec: object, name = 'robot'): Promise<string> => {
    const answer = await ask('POST', `${accounts}/${name}/token`, request(spec));
    return `${answer.status} ${answer.message}`;
  };
  assert.equal(
    await refusal({ expirationSeconds: 10 }),
    '422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes',
  );
  assert.equal(await refusal({}, 'nope'), '404 serviceaccounts "nope" not found');
  assert.equal(
    await refusal({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'nope' } }),
    '404 pods "nope" not found',
  );
  assert.match(
    await refusal({ boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1', name: 'x' } }),
    /^400 cannot bind token to object of type/,
  );
});

test('a deleted account takes its tokens along, even when one of the same name comes', async () => {
  const token = tokenOf(await ask('POST', `${accounts}/default/token`, request({})));
  assert.notEqual(await whoAmI(token), 401);
  await ask('DELETE', `${accounts}/default`);
  assert.equal(await whoAmI(token), 401);
  await ask('POST', accounts, { metadata: { name: 'default' } });
  assert.equal(await whoAmI(token), 401);
});

test('garbage is no token', async () => {
  const { token } = { token: tokenOf(await ask('POST', `${accounts}/robot/token`, request({}))) };
  const [head, body] = token.split('.');
  for (const text of [
    'x',
    'a.b.c',
    `${head}.${body}.`,
    `${token}x`,
    'abcdef.0123456789abcdef',
    'A'.repeat(70_000),
  ]) {
    assert.equal(await whoAmI(text), 401, text.slice(0, 40));
  }
});

test('the issuer tells others how to check tokens', async () => {
  const keys = await ask('GET', '/openid/v1/jwks');
  assert.equal((keys.body.keys as { kty: string }[])[0]?.kty, 'EC');
  const config = await ask('GET', '/.well-known/openid-configuration');
  assert.equal(config.body.issuer, issuer);
});
