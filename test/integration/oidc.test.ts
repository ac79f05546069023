// Users of OpenID providers on a real control plane: mappings, rules, rotation, reload, and tokens that nobody may believe.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
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
import { sha256Hex } from '../../src/crypto/digests.ts';
import { eventually } from '../harness/eventually.ts';
import { ecKey, rsaKey, signToken, startOpenIdProvider } from '../harness/openid-provider.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const { path: folder, remove } = scratchDirectory('oidc');
after(remove);
const [rsa, ec, foreign] = [rsaKey('first'), ecKey('second'), rsaKey('first')];
const provider = await startOpenIdProvider([rsa, ec]);
after(() => provider.close());

const configuration = (...jwt: object[]): object => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt,
});
const issuer = (more: object = {}): object => ({
  url: provider.url,
  certificateAuthority: provider.caPem,
  audiences: ['cluster'],
  ...more,
});
const byClaims = {
  issuer: issuer(),
  claimValidationRules: [{ claim: 'hd', requiredValue: 'example.com' }],
  claimMappings: {
    username: { claim: 'sub', prefix: 'oidc:' },
    groups: { claim: 'roles', prefix: 'oidc:' },
    uid: { claim: 'oid' },
  },
};

async function planeWith(
  flags: AuthenticationFlags,
  clock = systemClock,
): Promise<TestControlPlane & { text(): Promise<string> }> {
  const metrics = createMetrics();
  const configured = await configuredAuthentication(flags, {
    clock,
    log: silentLogger,
    metrics,
    serverId: 'test',
    everyMs: 5,
  });
  const plane = await startTestControlPlane({ authentication: configured.settings, metrics });
  after(async () => {
    configured.stop();
    await plane.close();
  });
  return { ...plane, text: async () => (await metrics.text()).text };
}

let files = 0;
function fileOf(content: unknown): string {
  const file = join(folder, `config-${files++}.yaml`);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
/** As text a number, which is read as one without end. */
const endless: unknown = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('1e400');

const claims = (more: object = {}): object => ({
  iss: provider.url,
  aud: 'cluster',
  sub: 'ada',
  roles: ['dev', 'ops'],
  oid: 'u-1',
  hd: 'example.com',
  exp: nowSeconds() + 600,
  ...more,
});

async function whoAmI({ ask }: TestControlPlane, token: string): Promise<Record<string, unknown> | number> {
  const answer = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { token });
  return answer.status === 201
    ? (answer.body.status as { userInfo: Record<string, unknown> }).userInfo
    : answer.status;
}

async function refusal({ ask }: TestControlPlane, token: string): Promise<string> {
  const answer = await ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } });
  const { authenticated, error = '' } = answer.body.status as { authenticated?: boolean; error?: string };
  return authenticated === true ? 'authenticated' : error;
}

const plane = await planeWith({ authenticationConfig: fileOf(configuration(byClaims)) });

test('claims become a user with prefixes, by RSA and ECDSA keys alike', async () => {
  const user = {
    username: 'oidc:ada',
    uid: 'u-1',
    groups: ['oidc:dev', 'oidc:ops', 'system:authenticated'],
  };
  for (const key of [rsa, ec]) assert.deepEqual(await whoAmI(plane, signToken(key, claims())), user);
  const one = (await whoAmI(plane, signToken(rsa, claims({ roles: 'dev' })))) as { groups: string[] };
  assert.deepEqual(one.groups, ['oidc:dev', 'system:authenticated']);
  assert.deepEqual(
    await whoAmI(plane, signToken({ ...rsa, alg: 'PS256' }, claims())),
    401,
    'the key is for RS256',
  );
  assert.match(await plane.text(), /jwt_authenticator_latency_seconds_count\{.*result="success"/);
  assert.match(await plane.text(), /jwks_fetch_last_timestamp_seconds\{.*result="success"\} \d/);
  assert.match(
    await plane.text(),
    /jwks_fetch_last_key_set_info\{.*,hash="sha256:\w{64}",jwt_issuer_hash="sha256:\w{64}"\} 1$/m,
  );
});

test('keys are asked for when the first token comes, and kept', async () => {
  const before = provider.asked.length;
  assert.ok(before > 0);
  for (let i = 0; i < 20; i++) await whoAmI(plane, signToken(rsa, claims({ n: i })));
  assert.equal(provider.asked.length, before);
});

test('tokens that nobody may believe name nobody', async () => {
  const good = signToken(rsa, claims());
  const [head = '', body = '', mac = ''] = good.split('.');
  const hostile: readonly (readonly [string, string, RegExp])[] = [
    ['alg none', signToken(rsa, claims(), { alg: 'none' }), /malformed jwt/],
    ['no signature', `${head}.${body}.`, /malformed jwt/],
    [
      'HMAC with the public key',
      signToken(rsa, claims(), { alg: 'HS256' }),
      /id token signed with unsupported algorithm, expected \["RS256".*\] got "HS256"/,
    ],
    ['a key of somebody else under a known name', signToken(foreign, claims()), /failed to verify id token/],
    [
      'the key id is a path',
      signToken(foreign, claims(), { kid: '../../../../etc/passwd' }),
      /failed to verify/,
    ],
    [
      'brings its own key',
      signToken(foreign, claims(), { jwk: {}, jku: 'https://127.0.0.1:1/keys' }),
      /failed to verify/,
    ],
    ['critical headers', signToken(rsa, claims(), { crit: ['b64'], b64: false }), /critical headers/],
    [
      'another audience',
      signToken(rsa, claims({ aud: ['vault'] })),
      /expected audience "cluster" got \["vault"\]/,
    ],
    ['no audience', signToken(rsa, claims({ aud: undefined })), /expected audience/],
    ['expired', signToken(rsa, claims({ exp: nowSeconds() - 1 })), /token is expired/],
    ['never expires', signToken(rsa, claims({ exp: undefined })), /token is expired/],
    ['expired before there was time', signToken(rsa, claims({ exp: -1e300 })), /token is expired/],
    ['expires beyond all times', signToken(rsa, claims({ exp: 1e306 })), /token is expired/],
    ['expires beyond all numbers', signToken(rsa, claims({ exp: endless })), /value out of range/],
    ['not yet', signToken(rsa, claims({ nbf: nowSeconds() + 600 })), /before the nbf/],
    ['claims of another token', `${head}.${body.slice(0, -4)}${'AAAA'}.${mac}`, /.*/],
    ['no user', signToken(rsa, claims({ sub: undefined })), /parse username claims "sub": claim not present/],
    ['a user that is no text', signToken(rsa, claims({ sub: { name: 'x' } })), /cannot unmarshal object/],
    ['groups that are no texts', signToken(rsa, claims({ roles: [1] })), /parse groups claim "roles"/],
    [
      'a claim of the prototype',
      signToken(rsa, claims({ sub: undefined, __proto__: { sub: 'x' } })),
      /claim not present/,
    ],
    [
      'a required claim is missing',
      signToken(rsa, claims({ hd: undefined })),
      /required claim hd not present in ID token/,
    ],
    [
      'a required claim is another',
      signToken(rsa, claims({ hd: 'x' })),
      /value does not match. Got = x, want = example.com/,
    ],
    [
      'an issuer that nobody knows',
      signToken(rsa, claims({ iss: 'https://evil.example' })),
      /^invalid bearer token$/,
    ],
    ['a huge one', `${head}.${body}${'A'.repeat(70_000)}.${mac}`, /^invalid bearer token$/],
  ];
  for (const [what, token, why] of hostile) {
    assert.equal(await whoAmI(plane, token), 401, what);
    assert.match(await refusal(plane, token), why, what);
  }
  assert.equal(await refusal(plane, good), 'authenticated');
});

test('a token is good for this server, not for whoever asks', async () => {
  const review = async (audiences: string[]): Promise<unknown> =>
    (
      (
        await plane.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
          spec: { token: signToken(rsa, claims()), audiences },
        })
      ).body.status as { authenticated?: boolean }
    ).authenticated;
  assert.equal(await review(['vault']), undefined);
  assert.equal(await review(['https://kubernetes.default.svc.cluster.local']), true);
});

test('expressions map and hold users to rules', async () => {
  const byRules = {
    issuer: issuer(),
    claimValidationRules: [{ expression: 'claims.exp - claims.iat <= 3600', message: 'lives too long' }],
    claimMappings: {
      username: { expression: 'claims.email_verified ? claims.email : claims.sub' },
      groups: { expression: "claims.roles.filter(r, r != '').map(r, 'oidc:' + r)" },
      uid: { expression: 'claims.oid' },
      extra: [{ key: 'example.org/tenant', valueExpression: 'claims.?tenant.orValue("")' }],
    },
    userValidationRules: [
      { expression: "!user.username.startsWith('system:')", message: 'reserved name' },
      { expression: "user.groups.all(g, !g.startsWith('system:'))", message: 'reserved group' },
    ],
  };
  const rules = await planeWith({ authenticationConfig: fileOf(configuration(byRules)) });
  const iat = nowSeconds();
  const base = { iat, email: 'ada@example.com', email_verified: true, tenant: 't1' };
  assert.deepEqual(await whoAmI(rules, signToken(rsa, claims(base))), {
    username: 'ada@example.com',
    uid: 'u-1',
    groups: ['oidc:dev', 'oidc:ops', 'system:authenticated'],
    extra: { 'example.org/tenant': ['t1'] },
  });
  const refused: readonly (readonly [object, RegExp])[] = [
    [
      { iat: iat - 7200 },
      /claim validation expression: validation expression 'claims.exp - claims.iat <= 3600' failed: lives too long\]$/,
    ],
    [
      { email: 'system:admin' },
      /user info validation rule: validation expression '!user\.username\..*' failed: reserved name\]$/,
    ],
    [{ roles: 7 }, /error evaluating group claim expression/],
    [{ email: '' }, /oidc: empty username via CEL expression is not allowed/],
    [{ email: 5 }, /username claim expression must return a string/],
    [{ oid: undefined }, /error evaluating uid claim expression: .*no such key: oid/],
  ];
  for (const [more, why] of refused)
    assert.match(await refusal(rules, signToken(rsa, claims({ ...base, ...more }))), why);
});

test('what a token is named by is told of its user, and rules see it', async () => {
  const byName = {
    issuer: issuer(),
    claimMappings: {
      username: { expression: 'claims.acme__dot__io__slash__who[0].user__dash__name' },
      extra: [{ key: 'acme.io/level', valueExpression: 'string(claims.level + 0.5)' }],
    },
    userValidationRules: [
      {
        expression:
          "!(user.extra.authentication__dot__kubernetes__dot__io__slash__credential__dash__id[0] in ['JTI=stolen'])",
        message: 'taken back',
      },
    ],
  };
  const named = await planeWith({ authenticationConfig: fileOf(configuration(byName)) });
  const token = (more: object): string =>
    signToken(rsa, claims({ 'acme.io/who': [{ 'user-name': 'ada' }], level: 2, jti: 'a', ...more }));
  assert.deepEqual(await whoAmI(named, token({})), {
    username: 'ada',
    groups: ['system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['JTI=a'], 'acme.io/level': ['2.5'] },
  });
  assert.match(await refusal(named, token({ jti: 'stolen' })), /failed: taken back\]$/);
  assert.match(await refusal(named, token({ jti: 7 })), /no such key/, 'a name is a text');
});

test('groups are fetched from where the token says that they are', async () => {
  const elsewhere = await startOpenIdProvider([rsa]);
  after(() => elsewhere.close());
  const at = (endpoint: object | undefined, more: object = {}): string =>
    signToken(
      rsa,
      claims({
        roles: undefined,
        _claim_names: { roles: 'src' },
        _claim_sources: { src: endpoint },
        ...more,
      }),
    );
  let answer: object = claims();
  provider.instead.set('/roles', () => ({ body: signToken(rsa, answer) }));
  const endpointOf = (bearer: string): object => ({
    endpoint: `${provider.url}/roles`,
    access_token: bearer,
  });
  const token = at(endpointOf('key-of-ada'));
  const together = await Promise.all(Array.from({ length: 5 }, () => whoAmI(plane, token)));
  for (const user of [...together, await whoAmI(plane, token)])
    assert.deepEqual((user as { groups: string[] }).groups, ['oidc:dev', 'oidc:ops', 'system:authenticated']);
  assert.equal(provider.asked.filter((path) => path === 'GET /roles').length, 1, 'for all of them');
  const endpoint = endpointOf('another');
  const refused: readonly (readonly [object | undefined, object, RegExp])[] = [
    [
      endpoint,
      claims({ aud: 'vault' }),
      /could not expand distributed claims: verify distributed claim token: oidc: expected audience "cluster" got \["vault"\]/,
    ],
    [endpoint, claims({ exp: nowSeconds() - 9 }), /verify distributed claim token: oidc: token is expired/],
    [endpoint, claims({ roles: undefined }), /did not contain claim: roles\]$/],
    [endpoint, claims({ iss: elsewhere.url }), /verify distributed claim token/],
    [
      { endpoint: `${provider.url}/none` },
      claims(),
      /while getting distributed claim "roles": error while getting distributed claim JWT: 404/,
    ],
    [{ endpoint: 'http://169.254.169.254/' }, claims(), /the scheme must be https/],
    [undefined, claims(), /verify token: oidc: source does not exist\]$/],
  ];
  for (const [where, given, why] of refused) {
    answer = given;
    assert.match(await refusal(plane, at(where)), why);
  }
  const own = (await whoAmI(plane, at(endpoint, { roles: ['dev'] }))) as { groups: string[] };
  assert.deepEqual(own.groups, ['oidc:dev', 'system:authenticated'], 'what the token holds itself wins');
  const inPlace = (await whoAmI(plane, at({ JWT: 'x' }))) as { groups: string[] };
  assert.deepEqual(inPlace.groups, ['system:authenticated'], 'an aggregated claim is none');
});

test('claims are read as Go reads them', async () => {
  const known: readonly (readonly [object, object])[] = [
    [{ exp: String(nowSeconds() + 600) }, { username: 'oidc:ada' }],
    [{ sub: null }, { username: 'oidc:' }],
    [{ roles: null }, { groups: ['system:authenticated'] }],
    [{ roles: [null, 'dev'] }, { groups: ['oidc:', 'oidc:dev', 'system:authenticated'] }],
  ];
  for (const [more, expected] of known) {
    const user = (await whoAmI(plane, signToken(rsa, claims(more)))) as Record<string, unknown>;
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(user[field], value);
  }
  const misread: readonly (readonly [object, RegExp])[] = [
    [
      { _claim_sources: [] },
      /array into Go struct field idToken\._claim_sources of type map\[string\]oidc\.claimSource\]$/,
    ],
    [
      { _claim_sources: { a: 'x' } },
      /string into Go struct field idToken\._claim_sources\.a of type oidc\.claimSource\]$/,
    ],
    [
      { _claim_sources: { a: { endpoint: 1 } } },
      /number into Go struct field idToken\._claim_sources\.a\.endpoint of type string\]$/,
    ],
    [
      { _claim_names: ['x'] },
      /array into Go struct field idToken\._claim_names of type map\[string\]string\]$/,
    ],
    [
      { _claim_names: 'x' },
      /string into Go struct field idToken\._claim_names of type map\[string\]string\]$/,
    ],
    [{ _claim_names: 7 }, /number into Go struct field idToken\._claim_names of type map/],
    [{ _claim_names: { a: 5 } }, /number into Go struct field idToken\._claim_names\.a of type string\]$/],
    [{ _claim_names: { a: null } }, /oidc: failed to obtain source from claim name\]$/],
    [
      { _claim_names: { a: '0' }, _claim_sources: [{}] },
      /array into Go struct field idToken\._claim_sources/,
    ],
  ];
  for (const [more, why] of misread) assert.match(await refusal(plane, signToken(rsa, claims(more))), why);
  for (const more of [{ nonce: 1 }, { aud: ['cluster', 7] }, { iat: 'soon' }, { exp: { at: 1 } }])
    assert.match(await refusal(plane, signToken(rsa, claims(more))), /failed to unmarshal claims/);
});

test('an address that its provider has not verified names nobody', async () => {
  const byEmail = await planeWith({
    oidcIssuerUrl: provider.url,
    oidcClientId: 'cluster',
    oidcUsernameClaim: 'email',
    oidcCaFile: (() => {
      const file = join(folder, 'ca.pem');
      writeFileSync(file, provider.caPem);
      return file;
    })(),
  });
  const token = (verified: unknown): string =>
    signToken(rsa, claims({ email: 'root@example.com', email_verified: verified }));
  assert.equal(((await whoAmI(byEmail, token(true))) as { username: string }).username, 'root@example.com');
  assert.match(await refusal(byEmail, token(false)), /oidc: email not verified/);
  assert.match(await refusal(byEmail, token('false')), /parse 'email_verified' claim/);
  // By flags, upstream believes RS256 alone.
  assert.match(
    await refusal(byEmail, signToken(ec, claims({ email: 'a', email_verified: true }))),
    /id token signed with unsupported algorithm, expected \["RS256"\] got "ES256"/,
  );
});

test('a provider that answers amiss vouches for nobody', async () => {
  const other = await startOpenIdProvider([rsa]);
  after(() => other.close());
  const wellKnown = '/.well-known/openid-configuration';
  const of = { ...byClaims, issuer: { ...issuer(), url: other.url, certificateAuthority: other.caPem } };
  const amiss: readonly (readonly [object, RegExp])[] = [
    [{ status: 302, headers: { location: `${provider.url}${wellKnown}` }, body: '' }, /302/],
    [
      { body: { issuer: provider.url, jwks_uri: `${other.url}/keys` } },
      /issuer did not match the issuer returned by provider/,
    ],
    [{ body: { issuer: other.url, jwks_uri: 'http://169.254.169.254/keys' } }, /no jwks_uri of scheme https/],
    [{ body: 'x'.repeat(2_000_000) }, /response body too large/],
    [{ body: 'no json' }, /JSON/],
    [{ status: 500, body: 'down' }, /500/],
  ];
  for (const [answer, why] of amiss) {
    other.instead.set(wellKnown, () => answer as { body: unknown });
    const fresh = await planeWith({ authenticationConfig: fileOf(configuration(of)) });
    const before = provider.asked.length;
    const why2 = await refusal(fresh, signToken(rsa, claims({ iss: other.url })));
    assert.match(why2, why);
    assert.equal(provider.asked.length, before, 'nobody is sent elsewhere');
  }
});

test('the file is read again while the server runs; a bad one changes nothing', async () => {
  const file = fileOf(configuration(byClaims));
  const reloading = await planeWith({ authenticationConfig: file });
  const name = async (): Promise<unknown> => {
    const user = await whoAmI(reloading, signToken(rsa, claims()));
    return typeof user === 'number' ? user : user.username;
  };
  const replace = (content: unknown): void => {
    writeFileSync(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content));
    renameSync(`${file}.new`, file);
  };
  assert.equal(await name(), 'oidc:ada');
  const renamed = { ...byClaims, claimMappings: { username: { claim: 'sub', prefix: 'new:' } } };
  replace(configuration(renamed));
  await eventually(async () => assert.equal(await name(), 'new:ada'));
  const failures = /automatic_reloads_total\{.*status="failure".*\} (\d+)/;
  replace('apiVersion: nothing');
  await eventually(async () => assert.match(await reloading.text(), failures));
  assert.equal(await name(), 'new:ada');
  replace(configuration());
  await eventually(async () => assert.equal(await name(), 401));
});

test('who is anonymous stays as it was at the start; the file that holds is told by its digest', async () => {
  const anonymous = { enabled: true, conditions: [{ path: '/livez' }] };
  const file = fileOf({ ...configuration(byClaims), anonymous });
  const followed = await planeWith({ authenticationConfig: file });
  const { ask, text } = followed;
  await whoAmI(followed, signToken(rsa, claims()));
  const looks = /jwks_fetch_last_timestamp_seconds\{/;
  assert.match(await text(), looks);
  const digest = async (): Promise<string | undefined> =>
    /^apiserver_authentication_config_controller_last_config_info\{.*hash="sha256:(\w+)"\} 1$/m.exec(
      await text(),
    )?.[1];
  const first = readFileSync(file, 'utf8');
  assert.equal(await digest(), sha256Hex(first));
  const replace = (content: string): void => {
    writeFileSync(`${file}.new`, content);
    renameSync(`${file}.new`, file);
  };
  replace(JSON.stringify({ ...configuration(), anonymous: { enabled: true } }));
  const failures = /automatic_reloads_total\{apiserver_id_hash="[^"]+",status="failure"\} 1$/m;
  await eventually(async () => assert.match(await text(), failures));
  assert.equal((await ask('GET', '/readyz', undefined, { anonymous: true })).status, 401);
  assert.match(await text(), looks, 'what is told of issuers that still hold');
  const second = JSON.stringify({ ...configuration(byClaims), anonymous }, undefined, 1);
  replace(second);
  await eventually(async () => assert.equal(await digest(), sha256Hex(second)));
  replace(JSON.stringify({ ...configuration(), anonymous }));
  await eventually(async () => assert.doesNotMatch(await text(), looks));
});

test('anonymous requests see the paths that the file names', async () => {
  const file = fileOf({
    ...configuration(),
    anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
  });
  const anonymous = await planeWith({ authenticationConfig: file });
  const status = async (url: string): Promise<number> =>
    (await anonymous.ask('GET', url, undefined, { anonymous: true })).status;
  assert.equal(await status('/livez'), 200);
  assert.equal(await status('/livez?verbose'), 200);
  for (const url of ['/readyz', '/livez/ping', '/api', '/version']) assert.equal(await status(url), 401, url);
  const open = await planeWith({ anonymousAuth: 'true' });
  assert.match(
    (await open.ask('GET', '/api/v1/pods', undefined, { anonymous: true })).message,
    /User "system:anonymous" cannot list resource "pods"/,
  );
});

test('flags of a provider are held to what the file is held to', async () => {
  const refusal = async (flags: AuthenticationFlags): Promise<string> => {
    try {
      await planeWith(flags);
    } catch (error) {
      return (error as Error).message;
    }
    return 'was taken';
  };
  const provided = { oidcIssuerUrl: provider.url, oidcClientId: 'cluster' };
  assert.equal(
    await refusal({ ...provided, oidcIssuerUrl: 'http://issuer.example' }),
    'jwt[0].issuer.url: Invalid value: "http://issuer.example": URL scheme must be https',
  );
  assert.match(
    await refusal({ ...provided, serviceAccountIssuer: [provider.url] }),
    /^jwt\[0\]\.issuer\.url: Invalid value: .*URL must not overlap with disallowed issuers: /,
  );
  assert.match(
    await refusal({ ...provided, oidcRequiredClaim: ['hd=a', 'hd=b'] }),
    /^jwt\[0\]\.claimValidationRules\[1\]\.claim: Duplicate value: "hd"$/,
  );
  assert.match(
    await refusal({ ...provided, oidcCaFile: fileOf('nothing') }),
    /^jwt\[0\]\.issuer\.certificateAuthority: Invalid value: /,
  );
  assert.equal(
    await refusal({ ...provided, oidcSigningAlgs: ['RS256', 'HS256'] }),
    'oidc: unsupported signing alg: "HS256"',
  );
  const selected = (egressSelectorType: string): Promise<string> =>
    refusal({
      authenticationConfig: fileOf(configuration({ ...byClaims, issuer: issuer({ egressSelectorType }) })),
    });
  assert.match(
    await selected('cluster'),
    /^--authentication-config \S+\.yaml: jwt\[0\]\.issuer\.egressSelectorType: Invalid value: "cluster": oidc: egress lookup for "cluster" is not configured$/,
  );
  assert.match(await selected('moon'), /egress selector must be either controlplane or cluster$/);
  const mailed = (expression: string): Promise<string> =>
    refusal({
      authenticationConfig: fileOf(
        configuration({
          ...byClaims,
          claimMappings: { username: { expression: 'claims.email' } },
          claimValidationRules: [{ expression }],
        }),
      ),
    });
  assert.equal(await mailed('claims.email_verified == true'), 'was taken');
  const unverified = /claims\.email_verified must be used in /;
  assert.match(await mailed('has(claims.sub)'), unverified);
  // it says nothing of true or false
  assert.match(await mailed('claims.?email_verified.orValue("x")'), unverified);
  assert.equal(
    await refusal({ serviceAccountIssuer: ['https://a.example', 'https://a.example'] }),
    'service-account-issuer "https://a.example" is already specified',
  );
  assert.match(
    await refusal({ serviceAccountIssuer: ['https://['] }),
    /contained a ':' but was not a valid URL/,
  );
  assert.equal(
    await refusal({ serviceAccountJwksUri: 'http://keys.example' }),
    'service-account-jwks-uri requires https scheme, parsed as: http://keys.example',
  );
});
