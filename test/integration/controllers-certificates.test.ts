// Requests for certificates through the real API server: approved, signed, and good for logging in.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { certificatesigningrequests, clusterrolebindings } from '../../src/api/generated/resources.ts';
import { user } from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateRequest } from '../../src/crypto/certificate-requests.ts';
import { certificateFacts, isIssuedBy } from '../../src/crypto/subject.ts';
import { approveByHand, startCluster } from './controllers-cluster.ts';

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
    await approveByHand(client, other);
    const failed = await until(
      certificatesigningrequests,
      (l) => l.get('other')?.status?.conditions?.find(({ type }) => type === 'Failed'),
      'the refusal',
    );
    assert.deepEqual(
      [failed.reason, failed.message],
      ['SignerValidationFailure', 'subject common name does not begin with system:node:'],
    );
  });

  it('look again at a request whose asker gets the right to it later', async (t) => {
    const { client, until, server } = await startCluster(t);
    const { requestPem } = await createCertificateRequest({
      commonName: 'system:node:late',
      organizations: ['system:nodes'],
    });
    const group = 'system:bootstrappers:late';
    const bind = (name: string, role: string) =>
      client.create(clusterrolebindings, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
      });
    await bind('late-ones-ask', 'system:node-bootstrapper');
    const made = await server.ask(
      'POST',
      '/apis/certificates.k8s.io/v1/certificatesigningrequests',
      {
        metadata: { name: 'late' },
        spec: {
          request: Buffer.from(requestPem).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          usages: ['digital signature', 'client auth'],
        },
      },
      { user: user('system:bootstrap:abcdef', group) },
    );
    assert.equal(made.status, 201, made.text);
    // It was looked at, and its asker had no right.
    await t.waitFor(
      async () => {
        const { text } = await server.ask('GET', '/metrics');
        assert.match(text, /^apiserver_request_total\{.*resource="subjectaccessreviews".*\} [1-9]/m);
      },
      { timeout: 60_000 },
    );
    await bind('late-ones-make-nodes', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient');
    const approved = await until(
      certificatesigningrequests,
      (l) => l.get('late')?.status?.certificate !== undefined && l.get('late')?.status?.conditions?.[0],
      'the certificate',
    );
    assert.equal(approved.message, 'Auto approving kubelet client certificate after SubjectAccessReview.');
  });

  it('sign a serving certificate for a node itself, not for what it says to be', async (t) => {
    const { server, until } = await startCluster(t, { approveKubeletServing: true });
    const merge = { contentType: 'application/merge-patch+json' };
    for (const [name, ...ips] of [
      ['good', '172.30.0.2'],
      // Written past NodeRestriction, as if the node had been there first.
      ['evil', '172.30.0.3', '172.30.0.2'],
    ] as const) {
      await server.ask('POST', '/api/v1/nodes', { metadata: { name } });
      const addresses = [
        ...ips.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: 'good' },
      ];
      const patched = await server.ask(
        'PATCH',
        `/api/v1/nodes/${name}/status`,
        { status: { addresses } },
        merge,
      );
      assert.equal(patched.status, 200, patched.text);
    }
    const ask = async (name: string, dnsNames: string[], ips: string[]): Promise<void> => {
      const { requestPem } = await createCertificateRequest({
        commonName: 'system:node:evil',
        organizations: ['system:nodes'],
        dnsNames,
        ips,
      });
      const made = await server.ask(
        'POST',
        '/apis/certificates.k8s.io/v1/certificatesigningrequests',
        {
          metadata: { name },
          spec: {
            request: Buffer.from(requestPem).toString('base64'),
            signerName: 'kubernetes.io/kubelet-serving',
            usages: ['digital signature', 'server auth'],
          },
        },
        { user: user('system:node:evil', 'system:nodes') },
      );
      assert.equal(made.status, 201, made.text);
    };
    await ask('other-name', ['good'], ['172.30.0.3']);
    await ask('other-address', ['evil'], ['172.30.0.2']);
    await ask('own', ['evil'], ['172.30.0.3']);
    await until(certificatesigningrequests, (l) => l.get('own')?.status?.certificate, 'the certificate');
    // Asked for before, so looked at before.
    for (const name of ['other-name', 'other-address']) {
      const { body } = await server.ask(
        'GET',
        `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}`,
      );
      assert.deepEqual((body as { status?: { conditions?: unknown } }).status?.conditions ?? [], [], name);
    }
  });
});
