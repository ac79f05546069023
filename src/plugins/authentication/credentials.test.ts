// What certificates and headers say of who asks, as upstream reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../../apiserver/http.ts';
import { createCertificateAuthority, keyUses, signCertificate } from '../../crypto/certificates.ts';
import { subjectOf } from '../../crypto/distinguished-name.ts';
import { generatePrivateKey } from '../../crypto/keys.ts';
import { certificateFacts } from '../../crypto/subject.ts';
import { createBearerTokenAuthenticator } from './bearer-token-authenticator.ts';
import { createX509Authenticator } from './x509-authenticator.ts';

const dates = { notBefore: Date.UTC(2026, 0, 1), notAfter: Date.UTC(2036, 0, 1) };
const ca = await createCertificateAuthority({ commonName: 'clients', ...dates });
const names = { dnsNames: [], ips: [], emails: [], uris: [] };

async function certified(...uids: string[]): Promise<ApiRequest> {
  const subject = [
    ...subjectOf('ada', ['dev']),
    ...uids.map((value) => ({ type: '1.3.6.1.4.1.57683.2', value })),
  ];
  const terms = { subject, names, keyUses, usages: ['client'] as const, ...dates };
  const pem = await signCertificate(ca, terms, generatePrivateKey());
  const { fingerprint, ...facts } = certificateFacts(pem);
  const raw = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  return { clientCertificate: { raw, fingerprint, ...facts }, headers: {} } as unknown as ApiRequest;
}

test('a certificate tells one uid of its user, or none', async () => {
  const { authenticate } = createX509Authenticator({ clientCa: () => ca.certificatePem });
  const who = async (...uids: string[]): Promise<unknown> => {
    const user = await authenticate(await certified(...uids));
    return user && [user.name, user.groups, user.uid];
  };
  assert.deepEqual(await who(), ['ada', ['dev'], undefined]);
  assert.deepEqual(await who('u-1'), ['ada', ['dev'], 'u-1']);
  for (const uids of [['u-1', 'u-2'], ['']]) await assert.rejects(who(...uids), /Unauthorized/, String(uids));
});

test('a bearer token is what stands after one space', async () => {
  const seen: string[] = [];
  const warned: string[] = [];
  const authenticator = createBearerTokenAuthenticator(
    [
      {
        authenticateToken: async (token) => {
          seen.push(token);
          return { user: { name: token, groups: [] }, audiences: [] };
        },
      },
    ],
    [],
  );
  const remarks = { warn: (text: string) => void warned.push(text), annotate: () => {} };
  for (const authorization of [
    'Bearer a',
    ' bearer b ',
    'BEARER c and more',
    'Bearer',
    'Basic d',
    'Bearer\te',
  ])
    await authenticator.authenticate({ headers: { authorization } } as unknown as ApiRequest, remarks);
  assert.deepEqual(seen, ['a', 'b', 'c']);
  assert.deepEqual(warned, []);
  const apart = { headers: { authorization: 'Bearer  f' } } as unknown as ApiRequest;
  assert.equal(await authenticator.authenticate(apart, remarks), undefined);
  assert.deepEqual(warned, [
    'the provided Authorization header contains extra space before the bearer token, and is ignored',
  ]);
});
