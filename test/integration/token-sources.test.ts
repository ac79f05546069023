// Tokens of a file, of a webhook, of older keys and issuers of service accounts, on a real control plane.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { AuthenticationFlags } from '../../src/cmd/compose/authentication-flags.ts';
import { configuredAuthentication } from '../../src/cmd/compose/configured-authentication.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { signJwt } from '../../src/crypto/jwt.ts';
import { generatePrivateKey, publicKeyToPem } from '../../src/crypto/keys.ts';
import { startHttpsService } from '../harness/https-service.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const { path: folder, remove } = scratchDirectory('tokens');
after(remove);
const issuer = 'https://kubernetes.default.svc.cluster.local';

async function planeWith(flags: AuthenticationFlags): Promise<TestControlPlane> {
  const metrics = createMetrics();
  const configured = await configuredAuthentication(flags, {
    clock: systemClock,
    log: silentLogger,
    metrics,
    serverId: 'test',
  });
  const plane = await startTestControlPlane({ authentication: configured.settings, metrics });
  after(async () => {
    configured.stop();
    await plane.close();
  });
  return plane;
}

function fileOf(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function whoAmI({ ask }: TestControlPlane, token: string): Promise<unknown> {
  const answer = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { token });
  return answer.status === 201 ? (answer.body.status as { userInfo: unknown }).userInfo : answer.status;
}

async function review({ ask }: TestControlPlane, spec: object): Promise<Record<string, unknown>> {
  const answer = await ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec });
  return answer.body.status as Record<string, unknown>;
}

test('a line of the token file is a user, for this server alone', async () => {
  const plane = await planeWith({
    tokenAuthFile: fileOf('tokens.csv', 's3cret,ada,u-1,"dev,ops"\nplain,bob,u-2\n"a ""b""",eve,u-3\n'),
  });
  assert.deepEqual(await whoAmI(plane, 's3cret'), {
    username: 'ada',
    uid: 'u-1',
    groups: ['dev', 'ops', 'system:authenticated'],
  });
  assert.equal(((await whoAmI(plane, 'plain')) as { username: string }).username, 'bob');
  assert.equal(await whoAmI(plane, 's3cre'), 401);
  assert.equal((await review(plane, { token: 'plain', audiences: ['vault'] })).authenticated, undefined);
  assert.equal((await review(plane, { token: 'plain', audiences: [issuer] })).authenticated, true);
  for (const [text, why] of [
    ['only,two', /at least 3 columns/],
    ['t,u,i,"open', /missing " in quoted-field/],
  ] as const)
    await assert.rejects(planeWith({ tokenAuthFile: fileOf('bad.csv', text) }), why);
});

test('a webhook vouches for tokens, for the audiences that it names, and is not asked twice', async () => {
  const seen: unknown[] = [];
  const known: Record<string, object> = {
    good: {
      authenticated: true,
      user: { username: 'ada', uid: 'u', groups: ['dev'], extra: { 'e.org/k': ['v'] } },
    },
    narrow: { authenticated: true, user: { username: 'bob' }, audiences: ['vault'] },
    bad: { authenticated: false, error: 'who is that' },
  };
  const service = await startHttpsService((_, __, body) => {
    const { spec } = body as { spec: { token: string } };
    seen.push(body);
    if (spec.token === 'broken') return { status: 503, body: 'down' };
    if (spec.token === 'moved')
      return { status: 302, headers: { location: 'https://127.0.0.1:1/' }, body: {} };
    return {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status: known[spec.token] ?? {} },
    };
  });
  after(() => service.close());
  const kubeconfig = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 's', user: 'u' } }],
    clusters: [
      {
        name: 's',
        cluster: {
          server: `${service.url}/review`,
          'certificate-authority-data': Buffer.from(service.caPem).toString('base64'),
        },
      },
    ],
    users: [{ name: 'u', user: {} }],
  };
  const plane = await planeWith({
    authenticationTokenWebhookConfigFile: fileOf('webhook.yaml', JSON.stringify(kubeconfig)),
    authenticationTokenWebhookVersion: 'v1',
  });
  for (let i = 0; i < 3; i++)
    assert.deepEqual(await whoAmI(plane, 'good'), {
      username: 'ada',
      uid: 'u',
      groups: ['dev', 'system:authenticated'],
      extra: { 'e.org/k': ['v'] },
    });
  assert.equal(seen.length, 1);
  assert.deepEqual(seen[0], {
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: null },
    spec: { token: 'good', audiences: [issuer] },
    status: { user: {} },
  });
  assert.equal(await whoAmI(plane, 'narrow'), 401);
  assert.deepEqual((await review(plane, { token: 'narrow', audiences: ['vault', 'x'] })).audiences, [
    'vault',
  ]);
  assert.equal((await review(plane, { token: 'bad' })).error, '[invalid bearer token, who is that]');
  assert.match(String((await review(plane, { token: 'broken' })).error), /status 503/);
  assert.match(String((await review(plane, { token: 'moved' })).error), /status 302/);
  assert.equal(await whoAmI(plane, 'nobody'), 401);
  const { text } = await plane.metrics.text();
  const count = (series: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1] ?? -1,
    );
  const counts: Readonly<Record<string, number>> = {
    'authentication_attempts{result="success"}': 3,
    'authentication_attempts{result="error"}': 2,
    'authentication_duration_seconds_count{result="error"}': 2,
    'authenticated_user_requests{username="other"}': 3,
    'authentication_token_cache_request_total{status="hit"}': 2,
    'authentication_token_cache_request_total{status="miss"}': 7,
    'authentication_token_cache_request_duration_seconds_count{status="miss"}': 7,
    'authentication_token_cache_fetch_total{status="ok"}': 4,
    'authentication_token_cache_fetch_total{status="error"}': 3,
    'authentication_token_cache_active_fetch_count{status="in_flight"}': 0,
    'authentication_token_cache_active_fetch_count{status="blocked"}': 0,
  };
  assert.deepEqual(Object.fromEntries(Object.keys(counts).map((series) => [series, count(series)])), counts);
  assert.ok(count('authorization_attempts_total{result="allowed"}') >= 3);
  assert.ok(count('authorization_duration_seconds_count{result="allowed"}') >= 3);
});

test('tokens of older keys and issuers are good while they last; new ones are the first issuer’s', async () => {
  const older = generatePrivateKey();
  const plane = await planeWith({
    serviceAccountKeyFile: [fileOf('older.pem', publicKeyToPem(older))],
    serviceAccountIssuer: ['https://new.example', 'https://old.example'],
    apiAudiences: ['api'],
    serviceAccountMaxTokenExpiration: 3_600_000,
  });
  const { ask } = plane;
  const account = await ask('POST', '/api/v1/namespaces/default/serviceaccounts', {
    metadata: { name: 'robot' },
  });
  const { uid } = account.body.metadata as { uid: string };
  const claims = (iss: string): Record<string, unknown> => ({
    iss,
    sub: 'system:serviceaccount:default:robot',
    aud: ['api'],
    exp: Math.floor(Date.now() / 1000) + 600,
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'robot', uid } },
  });
  const name = async (token: string): Promise<unknown> =>
    ((await whoAmI(plane, token)) as { username?: string }).username;
  assert.equal(
    await name(signJwt(older, claims('https://old.example'))),
    'system:serviceaccount:default:robot',
  );
  assert.equal(await name(signJwt(older, claims('https://other.example'))), undefined);
  assert.equal(await name(signJwt(generatePrivateKey(), claims('https://new.example'))), undefined);
  const asked = await ask('POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 86_400 },
  });
  assert.equal((asked.body.spec as { expirationSeconds: number }).expirationSeconds, 3600);
  const { token } = asked.body.status as { token: string };
  const said = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<
    string,
    unknown
  >;
  assert.deepEqual([said.iss, said.aud], ['https://new.example', ['api']]);
  const keys = (await ask('GET', '/openid/v1/jwks')).body.keys as unknown[];
  assert.equal(keys.length, 2);
});

test('tokens of bootstrap Secrets are believed, unless --enable-bootstrap-token-auth says otherwise', async () => {
  const secret = {
    metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
    },
  };
  const by = async (flags: AuthenticationFlags): Promise<unknown> => {
    const plane = await planeWith(flags);
    const made = await plane.ask('POST', '/api/v1/namespaces/kube-system/secrets', secret);
    assert.equal(made.status, 201, made.text);
    return whoAmI(plane, 'abcdef.0123456789abcdef');
  };
  assert.deepEqual(await by({}), {
    username: 'system:bootstrap:abcdef',
    groups: ['system:bootstrappers', 'system:authenticated'],
  });
  assert.equal(await by({ enableBootstrapTokenAuth: false }), 401);
});
