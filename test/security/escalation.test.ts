// Every way by which somebody could come to more than they may: each is refused without its right, and open with it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  type Answer,
  administrator,
  startTestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateRequest } from '../../src/crypto/certificate-requests.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}
const rule = (group: string, resource: string, verbs: string, ...resourceNames: string[]): Rule => ({
  apiGroups: [group],
  resources: [resource],
  verbs: verbs.split(' '),
  ...(resourceNames.length > 0 ? { resourceNames } : {}),
});
const groupOfRbac = 'rbac.authorization.k8s.io';

let people = 0;
/** Somebody who may exactly this. */
async function somebody(...rules: Rule[]): Promise<string> {
  const name = `somebody-${people++}`;
  const role = await ask('POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
  assert.equal(role.status, 201, role.text);
  const binding = await ask('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: groupOfRbac, kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: groupOfRbac, name }],
  });
  assert.equal(binding.status, 201, binding.text);
  return name;
}
const as = (name: string, method: string, url: string, body?: unknown): Promise<Answer> =>
  ask(method, url, body, { user: user(name) });

const wide = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
await ask('POST', `${rbac}/clusterroles`, { metadata: { name: 'wide' }, rules: wide });
await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'powerful' } });

async function pending(signerName: string): Promise<string> {
  const name = `request-${people++}`;
  const { requestPem: pem } = await createCertificateRequest({ commonName: 'x', organizations: ['o'] });
  const made = await ask('POST', csrs, {
    metadata: { name },
    spec: { request: Buffer.from(pem).toString('base64'), signerName, usages: ['client auth'] },
  });
  assert.equal(made.status, 201, made.text);
  return `${csrs}/${name}`;
}
const condition = { type: 'Approved', status: 'True', reason: 'r', message: 'm' };
const signer = 'kubernetes.io/kube-apiserver-client';

interface Way {
  readonly what: string;
  /** What lets them come to where the check is. */
  readonly base: readonly Rule[];
  readonly right: readonly Rule[];
  readonly refusal: RegExp;
  attempt(who: string): Promise<Answer>;
}

const unique = (): string => `made-${people++}`;
const createRoles = rule(groupOfRbac, 'clusterroles', 'create update get');
const createBindings = rule(groupOfRbac, 'clusterrolebindings', 'create');
const attemptBinding = (who: string): Promise<Answer> =>
  as(who, 'POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: unique() },
    roleRef: { apiGroup: groupOfRbac, kind: 'ClusterRole', name: 'wide' },
    subjects: [{ kind: 'User', apiGroup: groupOfRbac, name: who }],
  });
const attemptRole = (who: string): Promise<Answer> =>
  as(who, 'POST', `${rbac}/clusterroles`, { metadata: { name: unique() }, rules: wide });
const grants = /is attempting to grant RBAC permissions not currently held/;

const ways: readonly Way[] = [
  {
    what: 'a role with more than one holds, by escalate',
    base: [createRoles],
    right: [rule(groupOfRbac, 'clusterroles', 'escalate')],
    refusal: grants,
    attempt: attemptRole,
  },
  {
    what: 'a role with more than one holds, by holding it',
    base: [createRoles],
    right: [rule('', 'secrets', 'get')],
    refusal: grants,
    attempt: attemptRole,
  },
  {
    what: 'a binding of a role with more than one holds, by bind',
    base: [createBindings],
    right: [rule(groupOfRbac, 'clusterroles', 'bind', 'wide')],
    refusal: grants,
    attempt: attemptBinding,
  },
  {
    what: 'a binding, by holding what it gives',
    base: [createBindings],
    right: [rule('', 'secrets', 'get')],
    refusal: grants,
    attempt: attemptBinding,
  },
  {
    what: 'a role in a namespace with all of it',
    base: [rule(groupOfRbac, 'roles', 'create')],
    right: [rule(groupOfRbac, 'roles', 'escalate')],
    refusal: grants,
    attempt: (who) =>
      as(who, 'POST', `${rbac}/namespaces/default/roles`, {
        metadata: { name: unique() },
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      }),
  },
  {
    what: 'the token of an account',
    base: [rule('', 'serviceaccounts', 'get create update')],
    right: [rule('', 'serviceaccounts/token', 'create', 'powerful')],
    refusal: /cannot create resource "serviceaccounts\/token"/,
    attempt: (who) =>
      as(who, 'POST', '/api/v1/namespaces/default/serviceaccounts/powerful/token', { spec: {} }),
  },
  {
    what: 'an approval of a certificate',
    base: [
      rule('certificates.k8s.io', 'certificatesigningrequests/approval', 'update'),
      rule('certificates.k8s.io', 'certificatesigningrequests', 'get'),
    ],
    right: [rule('certificates.k8s.io', 'signers', 'approve', signer)],
    refusal: /user not permitted to approve requests with signerName "kubernetes\.io\/kube-apiserver-client"/,
    async attempt(who) {
      const url = await pending(signer);
      const { body } = await ask('GET', url);
      return as(who, 'PUT', `${url}/approval`, { ...body, status: { conditions: [condition] } });
    },
  },
  {
    what: 'a certificate that one signs oneself',
    base: [rule('certificates.k8s.io', 'certificatesigningrequests/status', 'update')],
    right: [rule('certificates.k8s.io', 'signers', 'sign', 'kubernetes.io/*')],
    refusal: /user not permitted to sign requests with signerName "kubernetes\.io\/kube-apiserver-client"/,
    async attempt(who) {
      const url = await pending(signer);
      const { body } = await ask('GET', url);
      const failed = { type: 'Failed', status: 'True', reason: 'r', message: 'm' };
      return as(who, 'PUT', `${url}/status`, { ...body, status: { conditions: [failed] } });
    },
  },
];

for (const { what, base, right, refusal, attempt } of ways)
  test(`${what}: refused without the right, and open with it`, async () => {
    const without = await attempt(await somebody(...base));
    assert.equal(without.status, 403, without.text);
    assert.match(without.message, refusal);
    const answer = await attempt(await somebody(...base, ...right));
    assert.ok(answer.status < 300, answer.text);
  });

test('a role is not made wider by its label, its aggregation or the one who holds nothing', async () => {
  const who = await somebody(createRoles, rule(groupOfRbac, 'clusterroles', 'patch'));
  await ask('POST', `${rbac}/clusterroles`, { metadata: { name: 'mine' }, rules: [] });
  const wider = await as(who, 'PATCH', `${rbac}/clusterroles/mine`, { rules: wide });
  assert.match(wider.message, grants);
  const all = { clusterRoleSelectors: [{ matchLabels: { any: 'thing' } }] };
  const aggregated = await as(who, 'PATCH', `${rbac}/clusterroles/mine`, { aggregationRule: all });
  assert.equal(aggregated.status, 403, aggregated.text);
});

test('nobody asks for a certificate of system:masters, also with every right to certificates', async () => {
  const { requestPem: pem } = await createCertificateRequest({
    commonName: 'x',
    organizations: ['system:masters'],
  });
  const answer = await ask(
    'POST',
    csrs,
    {
      metadata: { name: unique() },
      spec: { request: Buffer.from(pem).toString('base64'), signerName: signer, usages: ['client auth'] },
    },
    { user: administrator },
  );
  assert.equal(answer.status, 403, answer.text);
  assert.match(answer.message, /signer with system:masters group is not allowed$/);
});

test('a node does not become more than itself', async () => {
  const node = user('system:node:n1', 'system:nodes');
  const tries: readonly (readonly [string, string, object])[] = [
    ['POST', `${rbac}/clusterroles`, { metadata: { name: unique() }, rules: wide }],
    ['POST', '/api/v1/namespaces/default/serviceaccounts/powerful/token', { spec: {} }],
    ['POST', '/api/v1/nodes', { metadata: { name: 'n2' } }],
    ['PATCH', '/api/v1/namespaces/default', { metadata: { labels: { a: 'b' } } }],
  ];
  for (const [method, url, body] of tries) {
    const answer = await ask(method, url, body, { user: node });
    assert.equal(answer.status, 403, `${method} ${url} ${answer.text}`);
  }
});

test('whoever is named as somebody else with more behind it has the rights of their own name only', async () => {
  const name = 'joint';
  for (const [where, subject] of [
    ['clusterrolebindings', { kind: 'Group', apiGroup: groupOfRbac, name: 'wide-group' }],
    ['namespaces/default/rolebindings', { kind: 'User', apiGroup: groupOfRbac, name }],
  ] as const)
    await ask('POST', `${rbac}/${where}`, {
      metadata: { name },
      roleRef: { apiGroup: groupOfRbac, kind: 'ClusterRole', name: 'wide' },
      subjects: [subject],
    });
  const read = async (namespace: string, who: string, ...groups: string[]): Promise<number> => {
    const [url, asked] = [`/api/v1/namespaces/${namespace}/secrets/x`, { user: { name: who, groups } }];
    return (await ask('GET', url, undefined, asked)).status;
  };
  assert.equal(await read('default', name, 'a'), 404);
  assert.equal(await read('kube-system', name, 'a'), 403);
  assert.equal(await read('kube-system', `default\0${name}`, 'a'), 403);
  assert.equal(await read('kube-system', 'anybody', 'wide-group', 'a'), 404);
  assert.equal(await read('kube-system', 'anybody\nwide-group', 'a'), 403);
  assert.equal(await read('kube-system', 'another\nwide-group', 'a'), 403);
  assert.equal(await read('kube-system', 'another', 'wide-group', 'a'), 404);
});
