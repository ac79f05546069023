// Service account tokens from request to use, on the real server.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { administrator, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

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
  for (const kind of ['ConfigMap', 'constructor', '__proto__'])
    assert.equal(
      await refusal({ boundObjectRef: { kind, apiVersion: 'v1', name: 'x' } }),
      `400 cannot bind token to object of type /v1, Kind=${kind}`,
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
  assert.deepEqual(config.body, {
    issuer,
    jwks_uri: 'https://192.0.2.1:6443/openid/v1/jwks',
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  });
  assert.deepEqual(await headersOf('/openid/v1/jwks'), ['application/jwk-set+json', 'public, max-age=3600']);
  assert.deepEqual(await headersOf('/.well-known/openid-configuration'), [
    'application/json',
    'public, max-age=3600',
  ]);
});

async function headersOf(url: string): Promise<unknown[]> {
  const { signal } = new AbortController();
  const { headers } = await plane.controlPlane.handle({
    ...{ method: 'GET', url, headers: {}, readBody: async () => Buffer.alloc(0), signal },
    ...{ remoteAddress: '192.0.2.7', user: administrator },
  });
  return [headers['content-type'], headers['cache-control']];
}

test('a signing key of another curve signs by its algorithm; an issuer that is no URL has no documents', async () => {
  const serviceAccountKey = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  const other = await startTestControlPlane({
    serviceAccountKey,
    authentication: { issuers: ['https://issuer.example/x'], jwksUri: 'https://keys.example/jwks' },
  });
  after(() => other.close());
  await other.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } });
  const asked = await other.ask('POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', {
    spec: {},
  });
  const { token } = asked.body.status as { token: string };
  const who = await other.ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { token });
  assert.equal(who.status, 201, who.text);
  const config = await other.ask('GET', '/.well-known/openid-configuration');
  assert.deepEqual(config.body.id_token_signing_alg_values_supported, ['ES384']);
  assert.equal(config.body.jwks_uri, 'https://keys.example/jwks');
  for (const issuer of ['kubernetes/serviceaccount', 'http://issuer.example', 'https://issuer.example?a=b']) {
    const plain = await startTestControlPlane({ authentication: { issuers: [issuer] } });
    after(() => plain.close());
    for (const path of ['/openid/v1/jwks', '/.well-known/openid-configuration'])
      assert.equal((await plain.ask('GET', path)).status, 404, issuer);
  }
});
