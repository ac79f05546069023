// What a node gets in its pods' names: tokens for the audiences that the pods ask for, and certificates of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateRequest } from '../../src/crypto/certificate-requests.ts';
import { unverifiedClaims } from '../../src/crypto/jwt.ts';

const node = user('system:node:n1', 'system:nodes');
const token = (audience?: string): object => ({
  name: `t-${audience ?? 'none'}`,
  projected: {
    sources: [{ serviceAccountToken: { path: 't', ...(audience === undefined ? {} : { audience }) } }],
  },
});

test('a node gets tokens only for audiences that its pod asks for', async (t) => {
  const plane = await startTestControlPlane();
  t.after(() => plane.close());
  const must = async (url: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await plane.ask('POST', url, body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
  };
  await must('/api/v1/nodes', { metadata: { name: 'n1' } });
  await must('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } });
  await must('/apis/storage.k8s.io/v1/csidrivers', {
    metadata: { name: 'vault.csi' },
    spec: { tokenRequests: [{ audience: 'vault' }] },
  });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const group = 'rbac.authorization.k8s.io';
  await must(`${rbac}/clusterroles`, {
    metadata: { name: 'registry' },
    rules: [{ apiGroups: [''], resources: ['registry'], verbs: ['request-serviceaccounts-token-audience'] }],
  });
  await must(`${rbac}/clusterrolebindings`, {
    metadata: { name: 'registry' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'registry' },
    subjects: [{ kind: 'Group', apiGroup: group, name: 'system:nodes' }],
  });
  const pods = '/api/v1/namespaces/default/pods';
  const pod = async (name: string, volumes: object[], automount: boolean): Promise<string> => {
    const made = await must(pods, {
      metadata: { name },
      spec: {
        nodeName: 'n1',
        serviceAccountName: 'robot',
        automountServiceAccountToken: automount,
        containers: [{ name: 'main', image: 'x' }],
        volumes,
      },
    });
    return (made['metadata'] as { uid: string }).uid;
  };
  const uids: Record<string, string> = {
    plain: await pod('plain', [], true),
    none: await pod('none', [], false),
    named: await pod('named', [token('bank')], false),
    csi: await pod('csi', [{ name: 'v', csi: { driver: 'vault.csi' } }], false),
  };
  const lacks = (audience: string): RegExp =>
    new RegExp(
      `^serviceaccounts "robot" is forbidden: audience "${audience}" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience$`,
    );
  const rows: readonly (readonly [string, string[], 201 | RegExp])[] = [
    ['plain', [], 201],
    ['plain', ['bank'], lacks('bank')],
    [
      'plain',
      ['https://kubernetes.default.svc.cluster.local'],
      lacks('https://kubernetes.default.svc.cluster.local'),
    ],
    ['none', [], lacks('')],
    ['named', ['bank'], 201],
    ['named', [], lacks('')],
    ['named', ['bank', 'vault'], /node may only request 0 or 1 audiences$/],
    ['csi', ['vault'], 201],
    ['csi', ['bank'], lacks('bank')],
    ['none', ['registry'], 201],
  ];
  for (const [name, audiences, expected] of rows)
    await t.test(`${name} for [${audiences}]`, async () => {
      const answer = await plane.ask(
        'POST',
        '/api/v1/namespaces/default/serviceaccounts/robot/token',
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { audiences, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid: uids[name] } },
        },
        { user: node },
      );
      if (expected === 201) assert.equal(answer.status, 201, answer.message);
      else assert.match(answer.message, expected);
    });
});

test("a node asks for its own certificates, not for another node's", async (t) => {
  const plane = await startTestControlPlane();
  t.after(() => plane.close());
  const ask = async (commonName: string, signerName: string, usage: string) => {
    const { requestPem } = await createCertificateRequest({
      commonName,
      organizations: ['system:nodes'],
      ...(usage === 'server auth' ? { dnsNames: ['n1'] } : {}),
    });
    return await plane.ask(
      'POST',
      '/apis/certificates.k8s.io/v1/certificatesigningrequests',
      {
        metadata: { generateName: 'csr-' },
        spec: {
          request: Buffer.from(requestPem).toString('base64'),
          signerName,
          usages: ['digital signature', usage],
        },
      },
      { user: node },
    );
  };
  for (const [signer, usage] of [
    ['kubernetes.io/kubelet-serving', 'server auth'],
    ['kubernetes.io/kube-apiserver-client-kubelet', 'client auth'],
  ] as const) {
    assert.equal((await ask('system:node:n1', signer, usage)).status, 201);
    for (const other of ['system:node:n2', 'system:node:n1"', 'system:node:', 'n1'])
      assert.match(
        (await ask(other, signer, usage)).message,
        /can only create a node CSR with CN=system:node:n1$/,
      );
  }
});

for (const [extend, seconds] of [
  [true, 365 * 24 * 3600],
  [false, 3607],
] as const)
  test(`S (low): extending the life of pods' tokens is a choice: ${extend}`, async (t) => {
    const plane = await startTestControlPlane({ extendTokenExpiration: extend });
    t.after(() => plane.close());
    const namespace = '/api/v1/namespaces/default';
    await plane.ask('POST', `${namespace}/serviceaccounts`, { metadata: { name: 'robot' } });
    const pod = await plane.ask('POST', `${namespace}/pods`, {
      metadata: { name: 'web' },
      spec: { serviceAccountName: 'robot', containers: [{ name: 'main', image: 'x' }] },
    });
    const { uid } = pod.body['metadata'] as { uid: string };
    const answer = await plane.ask('POST', `${namespace}/serviceaccounts/robot/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds: 3607,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'web', uid },
      },
    });
    const claims = unverifiedClaims((answer.body['status'] as { token: string }).token);
    assert.equal(Number(claims?.['exp']) - Number(claims?.['iat']), seconds);
  });
