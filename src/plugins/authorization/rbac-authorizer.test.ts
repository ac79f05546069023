// RBAC allows and refuses as upstream, and forgets at once what was taken away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '../../api/generated/resources.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import { fixedLiveObjects } from '../testing/fixed-live-objects.ts';
import { escalationRefusal } from './rbac/escalation.ts';
import { createRuleResolver } from './rbac/rule-resolver.ts';
import { createRbacAuthorizer } from './rbac-authorizer.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const jane = { name: 'jane', groups: ['devs', 'system:authenticated'] };

function world(): { live: ReturnType<typeof fixedLiveObjects>; authorizer: Authorizer } {
  const live = fixedLiveObjects();
  live.put(clusterroles, {
    metadata: { name: 'reader' },
    rules: [
      { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list'] },
      { apiGroups: ['apps'], resources: ['*/scale'], verbs: ['*'] },
      { nonResourceURLs: ['/metrics', '/debug/*'], verbs: ['get'] },
    ],
  });
  live.put(roles, {
    metadata: { name: 'one-secret', namespace: 'a' },
    rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get'] }],
  });
  live.put(clusterrolebindings, {
    metadata: { name: 'devs-read' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'Group', name: 'devs', apiGroup }],
  });
  live.put(rolebindings, {
    metadata: { name: 'jane', namespace: 'a' },
    roleRef: { apiGroup, kind: 'Role', name: 'one-secret' },
    subjects: [{ kind: 'User', name: 'jane', apiGroup }],
  });
  return { live, authorizer: createRbacAuthorizer(createRuleResolver(live)) };
}

const ask = async (authorizer: Authorizer, user: typeof jane, text: string): Promise<string> => {
  const [verb = '', what = '', namespace = '', name = ''] = text.split(' ');
  const isResource = !what.startsWith('/');
  const [groupResource = '', subresource = ''] = isResource ? what.split('/') : [''];
  const [resource = '', group = ''] = groupResource.split('.');
  const answer = await authorizer.authorize({
    user,
    verb,
    isResource,
    group,
    version: 'v1',
    resource,
    subresource,
    namespace,
    name,
    path: isResource ? '' : what,
  });
  return `${answer.decision}${answer.reason === '' ? '' : ` ${answer.reason}`}`;
};

test('a group binding allows its rules, sub-resources and paths, and nothing more', async () => {
  const { authorizer } = world();
  const by = 'allow RBAC: allowed by ClusterRoleBinding "devs-read" of ClusterRole "reader" to Group "devs"';
  assert.equal(await ask(authorizer, jane, 'list pods a'), by);
  assert.equal(await ask(authorizer, jane, 'get pods/log a x'), by);
  assert.equal(await ask(authorizer, jane, 'patch deployments.apps/scale a x'), by);
  assert.equal(await ask(authorizer, jane, 'get /metrics'), by);
  assert.equal(await ask(authorizer, jane, 'get /debug/pprof'), by);
  for (const text of [
    'delete pods a x',
    'get pods/exec a x',
    'patch deployments.apps a x',
    'get /metrics/x',
    'get /debug',
  ]) {
    assert.equal(await ask(authorizer, jane, text), 'no-opinion', text);
  }
});

test('a role binding allows in its namespace and for its names', async () => {
  const { authorizer } = world();
  assert.equal(
    await ask(authorizer, jane, 'get secrets a mine'),
    'allow RBAC: allowed by RoleBinding "jane/a" of Role "one-secret" to User "jane"',
  );
  assert.equal(await ask(authorizer, jane, 'get secrets a other'), 'no-opinion');
  assert.equal(await ask(authorizer, jane, 'get secrets b mine'), 'no-opinion');
  assert.equal(await ask(authorizer, jane, 'list secrets a'), 'no-opinion');
});

test('what is taken away is refused by the next request', async () => {
  const { live, authorizer } = world();
  assert.match(await ask(authorizer, jane, 'list pods a'), /^allow/);
  live.remove(clusterrolebindings, 'devs-read');
  assert.equal(await ask(authorizer, jane, 'list pods a'), 'no-opinion');
});

test('a binding to a role that does not exist is named in the reason', async () => {
  const { live, authorizer } = world();
  live.remove(clusterroles, 'reader');
  assert.equal(
    await ask(authorizer, jane, 'list pods a'),
    'no-opinion RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found',
  );
});

test('a service account is bound by its name in the namespace of the binding', async () => {
  const { live, authorizer } = world();
  live.put(rolebindings, {
    metadata: { name: 'sa', namespace: 'a' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', name: 'robot' }],
  });
  const robot = { name: 'system:serviceaccount:a:robot', groups: ['system:serviceaccounts'] };
  assert.equal(
    await ask(authorizer, robot, 'get pods a x'),
    'allow RBAC: allowed by RoleBinding "sa/a" of ClusterRole "reader" to ServiceAccount "robot/a"',
  );
  const twin = { name: 'system:serviceaccount:b:robot', groups: ['system:serviceaccounts'] };
  assert.equal(await ask(authorizer, twin, 'get pods a x'), 'no-opinion');
});

test('nobody is taken for somebody else by what is in a name, whoever was asked about first', async () => {
  const joe = { name: 'joe', groups: ['devs', 'system:authenticated'] };
  const others = [
    { name: 'joe\ndevs', groups: ['system:authenticated'] },
    { name: 'joe', groups: ['devs\nsystem:authenticated'] },
    { name: 'joe', groups: ['devs,system:authenticated'] },
    { name: 'joe","devs', groups: ['system:authenticated'] },
    { name: 'a\0jane', groups: ['system:authenticated'] },
    { name: 'a', groups: ['jane'] },
  ];
  const mayRead = async (authorizer: Authorizer, user: typeof jane): Promise<string> =>
    (await ask(authorizer, user, 'get pods b')).split(' ')[0]!;
  for (const other of others)
    for (const isFirst of [true, false]) {
      const { authorizer } = world();
      if (isFirst) assert.equal(await mayRead(authorizer, other), 'no-opinion', JSON.stringify(other));
      assert.equal(await mayRead(authorizer, joe), 'allow', JSON.stringify(other));
      assert.equal(await mayRead(authorizer, other), 'no-opinion', JSON.stringify(other));
    }
  // Rules of a namespace are never those of the cluster.
  const { authorizer } = world();
  for (const groups of [jane.groups, []]) {
    assert.match(await ask(authorizer, { name: 'jane', groups }, 'get secrets a mine'), /^allow/);
    assert.equal(await ask(authorizer, { name: 'a\0jane', groups }, 'get secrets  mine'), 'no-opinion');
    assert.equal(await ask(authorizer, { name: 'ajane', groups }, 'get secrets  mine'), 'no-opinion');
  }
});

test('names like __proto__ are names', async () => {
  const { authorizer } = world();
  for (const name of ['__proto__', 'constructor', 'toString']) {
    assert.equal(await ask(authorizer, { name, groups: [name] }, `get ${name} a ${name}`), 'no-opinion');
    assert.equal(await ask(authorizer, jane, `${name} pods a`), 'no-opinion');
  }
});

test('granting what one does not hold is refused with the missing rules, compacted', () => {
  const { live } = world();
  const resolver = createRuleResolver(live);
  assert.equal(
    escalationRefusal(resolver, jane, 'a', [
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'watch', 'delete'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get'] },
      { nonResourceURLs: ['/logs'], verbs: ['get'] },
    ]),
    'user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}\n{NonResourceURLs:["/logs"], Verbs:["get"]}',
  );
  assert.equal(
    escalationRefusal(resolver, jane, 'a', [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }]),
    undefined,
  );
});
