// A node's certificate is asked for once, whatever becomes of the questions after it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CertificateSigningRequest } from '../../api/generated/types/certificates-v1.ts';
import { notFound, serviceUnavailable } from '../../apimachinery/errors.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { parseCertificateRequest, signCertificateRequest } from '../../crypto/certificate-requests.ts';
import { createCertificateAuthority } from '../../crypto/certificates.ts';
import { certificateFacts, isPairOf } from '../../crypto/subject.ts';
import { startCertificateManager } from './certificate-manager.ts';

const now = Date.UTC(2026, 10, 22);
const day = 86_400_000;

/** Answers a manager's questions; `fails` says which of them come to nothing. What was obtained, and for how many requests. */
async function obtained(fails: (question: number) => Error | undefined) {
  const ca = await createCertificateAuthority({
    commonName: 'ca',
    notBefore: now - day,
    notAfter: now + day,
  });
  const requests: CertificateSigningRequest[] = [];
  let questions = 0;
  const client = {
    create: async (_: unknown, request: CertificateSigningRequest) => {
      const created = { ...request, metadata: { name: `csr-${requests.length}` } };
      requests.push(created);
      return created;
    },
    get: async (_: unknown, { name }: { name: string }) => {
      const failure = fails(questions++);
      if (failure) throw failure;
      const request = requests.find(({ metadata }) => metadata.name === name)!;
      const pem = Buffer.from(request.spec.request, 'base64').toString();
      const signed = await signCertificateRequest(ca, await parseCertificateRequest(pem), {
        notBefore: now - 1000,
        notAfter: now + day,
        keyUses: ['digital signature'],
        usages: ['client'],
      });
      return { ...request, status: { certificate: Buffer.from(signed).toString('base64') } };
    },
  };
  const stored = Promise.withResolvers<string>();
  let current: string | undefined;
  const manager = startCertificateManager({
    client: client as never,
    clock: {
      now: () => now,
      monotonic: () => now,
      timer: () => () => undefined,
      // Time passes where something is waited for; a certificate that is good is slept on for ever.
      sleep: (ms, signal) =>
        ms < 100_000
          ? Promise.resolve()
          : new Promise((_, reject) =>
              signal?.addEventListener('abort', () => reject(signal.reason as Error)),
            ),
    },
    random: systemRandom,
    log: silentLogger,
    store: {
      current: () => current,
      replace: (pem) => {
        current = pem;
        stored.resolve(pem);
      },
    },
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['client auth'],
    request: { commonName: 'system:node:n', organizations: ['system:nodes'] },
    renewed: () => undefined,
  });
  const pem = await stored.promise;
  await manager.stop();
  return { pem, requests: requests.length, questions };
}

test('a question that is not answered does not cost the key: the same request is asked about again', async () => {
  const { pem, requests, questions } = await obtained((question) =>
    question < 3 ? serviceUnavailable('the server restarts') : undefined,
  );
  assert.deepEqual([requests, questions], [1, 4]);
  assert.ok(isPairOf(pem, pem));
  assert.equal(certificateFacts(pem).notAfter, now + day);
});

test('a request that is gone is made again', async () => {
  const gone = notFound({ group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }, 'csr-0');
  const { requests } = await obtained((question) => (question === 0 ? gone : undefined));
  assert.equal(requests, 2);
});
