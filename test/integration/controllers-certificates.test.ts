// Requests for certificates through the real API server: approved, signed, and good for logging in.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { certificatesigningrequests, clusterrolebindings } from '../../src/api/generated/resources.ts';
import { createCertificateRequest } from '../../src/crypto/certificate-requests.ts';
import { certificateFacts, isIssuedBy } from '../../src/crypto/subject.ts';
import { startCluster } from './controllers-cluster.ts';

describe('the controllers of certificate signing requests', () => {
  it("sign a kubelet's client certificate when its asker may have it", async (t) => {
    const { client, until, server } = await startCluster(t);
    const ask = async (name: string, commonName: string): Promise<void> => {
      const { requestPem } = await createCertificateRequest({ commonName, organizations: ['system:nodes'] });
      await client.create(certificatesigningrequests, {
        metadata: { name },
        spec: {
          request: Buffer.from(requestPem).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          usages: ['digital signature', 'client auth'],
          expirationSeconds: 3600,
        },
      });
    };
    await client.create(clusterrolebindings, {
      metadata: { name: 'admins-make-nodes' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
      },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:masters' }],
    });
    await ask('node', 'system:node:new');
    const signed = await until(
      certificatesigningrequests,
      (l) => l.get('node')?.status?.certificate !== undefined && l.get('node'),
      'the certificate',
    );
    assert.equal(signed.status?.conditions?.[0]?.reason, 'AutoApproved');
    const pem = Buffer.from(signed.status?.certificate ?? '', 'base64').toString('utf8');
    assert.ok(isIssuedBy(pem, server.pki.caCertificatePem));
    assert.equal(certificateFacts(pem).subject.CN, 'system:node:new');

    // Nobody but a node gets a node's certificate, even when somebody approves it by hand.
    await ask('other', 'somebody');
    const other = await client.get(certificatesigningrequests, { name: 'other' });
    const time = '2026-01-01T00:00:00Z';
    const approved = {
      type: 'Approved',
      status: 'True',
      reason: 'ByHand',
      message: '',
      lastUpdateTime: time,
      lastTransitionTime: time,
    };
    await client.update(
      certificatesigningrequests,
      { ...other, status: { conditions: [approved] } },
      { subresource: 'approval' },
    );
    const failed = await until(
      certificatesigningrequests,
      (l) => l.get('other')?.status?.conditions?.find(({ type }) => type === 'Failed'),
      'the refusal',
    );
    assert.deepEqual(
      [failed.reason, failed.message],
      ['SignerValidationFailure', 'subject common name must begin with system:node:'],
    );
  });
});
