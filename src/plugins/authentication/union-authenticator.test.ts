// Who is asked after whom: a credential that is wrong does not hide a good one, and is never taken for none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unauthorized } from '../../apimachinery/errors.ts';
import { type Authenticator, anonymousUser } from '../../apiserver/authentication/authenticator.ts';
import type { ApiRequest } from '../../apiserver/http.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../../crypto/certificates.ts';
import { certificateFacts } from '../../crypto/subject.ts';
import { createAnonymousAuthenticator } from './anonymous-authenticator.ts';
import { createBearerTokenAuthenticator } from './bearer-token-authenticator.ts';
import { createRequestHeaderAuthenticator } from './request-header-authenticator.ts';
import { orAnonymous, unionAuthenticator } from './union-authenticator.ts';
import { createX509Authenticator } from './x509-authenticator.ts';

const dates = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const [clients, fronts, strangers] = (await Promise.all(
  ['kubernetes', 'front-proxy-ca', 'somebody'].map((commonName) =>
    createCertificateAuthority({ commonName, ...dates }),
  ),
)) as [KeyPair, KeyPair, KeyPair];

async function certificate(issuer: KeyPair, commonName: string): Promise<object> {
  const made = await issueCertificate(issuer, { commonName, usages: ['client'], ...dates });
  const { subject, fingerprint } = certificateFacts(made.certificatePem);
  const [, base64 = ''] = /-----BEGIN CERTIFICATE-----([^-]+)/.exec(made.certificatePem) ?? [];
  return { subject, fingerprint, raw: Buffer.from(base64, 'base64') };
}

const authenticator = orAnonymous(
  unionAuthenticator([
    createRequestHeaderAuthenticator({
      ca: () => fronts.certificatePem,
      allowedNames: ['front-proxy-client'],
      usernameHeaders: ['X-Remote-User', 'X-User'],
      uidHeaders: ['X-Remote-Uid'],
      groupHeaders: ['X-Remote-Group'],
      extraHeadersPrefixes: ['X-Remote-Extra-'],
    }),
    createX509Authenticator({ clientCa: () => clients.certificatePem }),
    createBearerTokenAuthenticator(
      [
        {
          authenticateToken: async (token) =>
            token === 'good' ? { user: { name: 'by-token', groups: [] }, audiences: [] } : undefined,
        },
      ],
      [],
    ),
  ]),
  createAnonymousAuthenticator(),
);

const named = {
  none: undefined,
  client: await certificate(clients, 'alice'),
  nameless: await certificate(clients, ''),
  stranger: await certificate(strangers, 'alice'),
  front: await certificate(fronts, 'front-proxy-client'),
  otherFront: await certificate(fronts, 'eve'),
};

async function who(
  cert: keyof typeof named,
  headers: Readonly<Record<string, string | string[]>> = {},
  url = '/api',
): Promise<string> {
  const upgrade = headers['upgrade'] === undefined ? undefined : {};
  const request = { headers, url, upgrade, clientCertificate: named[cert] } as unknown as ApiRequest;
  try {
    const user = await authenticator.authenticate(request);
    return user === undefined ? 'nobody' : [user.name, ...user.groups].join(' ');
  } catch (error) {
    assert.equal((error as { code?: number }).code, 401);
    return '401';
  }
}

const good = { authorization: 'Bearer good' };
const bad = { authorization: 'Bearer bad' };
const browser = (token: string, ...more: string[]): Record<string, string> => {
  const named = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
  return { upgrade: 'websocket', 'sec-websocket-protocol': [named, ...more].join(', ') };
};
const bob = { 'x-remote-user': 'bob' };
const rows: readonly (readonly [string, Parameters<typeof who>, string])[] = [
  ['a certificate', ['client'], 'alice system:authenticated'],
  ['a certificate before a token, good or bad', ['client', bad], 'alice system:authenticated'],
  ['a token', ['none', good], 'by-token system:authenticated'],
  ['a token beside a certificate of a stranger', ['stranger', good], 'by-token system:authenticated'],
  ['a token beside a certificate without a name', ['nameless', good], 'by-token system:authenticated'],
  ['a token beside a front proxy that names nobody', ['front', good], 'by-token system:authenticated'],
  [
    'a token beside another name of its authority',
    ['otherFront', { ...good, ...bob }],
    'by-token system:authenticated',
  ],
  ['a front proxy before a token', ['front', { ...good, ...bob }], 'bob system:authenticated'],
  [
    'the first header that says something',
    ['front', { 'x-remote-user': '', 'x-user': 'carol' }],
    'carol system:authenticated',
  ],
  ['of a header its first value', ['front', { 'x-remote-user': ['', 'mallory'] }], '401'],
  [
    'groups without a name',
    ['front', { ...bob, 'x-remote-group': ['', 'dev'] }],
    'bob dev system:authenticated',
  ],
  ['a stranger', ['stranger'], '401'],
  ['a certificate without a name', ['nameless'], '401'],
  ['a bad token', ['none', bad], '401'],
  ['two bad ones', ['stranger', bad], '401'],
  ["a browser's WebSocket", ['none', browser('good', 'v4')], 'by-token system:authenticated'],
  ['one with a bad token', ['none', browser('bad', 'v4')], '401'],
  ['one that says nothing else, so that it could not be answered', ['none', browser('good')], '401'],
  ['one with two tokens', ['none', browser('good', browser('good')['sec-websocket-protocol']!, 'v4')], '401'],
  ['its header, before that', ['none', { ...bad, ...browser('good', 'v4') }], '401'],
  ['the same without an upgrade', ['none', { ...browser('good', 'v4'), upgrade: 'h2c' }], 'nobody'],
  ['nobody', ['none'], 'nobody'],
  ['nobody, to ask whether it lives', ['none', {}, '/livez'], 'system:anonymous system:unauthenticated'],
  [
    'what is no token',
    ['none', { authorization: 'Basic eA==' }, '/livez'],
    'system:anonymous system:unauthenticated',
  ],
  ['a bad token, to ask whether it lives', ['none', bad, '/livez'], '401'],
  ['a stranger, to ask whether it lives', ['stranger', {}, '/livez'], '401'],
  ['a certificate without a name, to ask whether it lives', ['nameless', {}, '/livez'], '401'],
];
for (const [what, args, expected] of rows)
  test(`${what}: ${expected}`, async () => assert.equal(await who(...args), expected));

test('an authenticator that fails does not keep the next one from being asked, and is told when nobody knows', async () => {
  const failing: Authenticator = {
    authenticate: () => {
      throw new TypeError('a bug');
    },
  };
  const refusing: Authenticator = {
    authenticate: () => {
      throw unauthorized();
    },
  };
  const knowing: Authenticator = { authenticate: () => ({ name: 'alice', groups: [] }) };
  const request = {} as ApiRequest;
  assert.equal((await unionAuthenticator([failing, refusing, knowing]).authenticate(request))?.name, 'alice');
  const asked = orAnonymous(unionAuthenticator([refusing, failing]), { authenticate: () => anonymousUser });
  await assert.rejects(async () => asked.authenticate(request), TypeError);
});
