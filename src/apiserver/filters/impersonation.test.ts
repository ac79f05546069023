// Acting as somebody else: who may, who may not, and headers that name nobody.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import type { AuthorizationAttributes } from '../authorization/authorizer.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { RequestContext } from '../request-context.ts';
import { impersonationFilter } from './impersonation.ts';

const caller = { name: 'alice', groups: ['system:authenticated'] };

async function pass(
  headers: Record<string, string>,
  allow: (attributes: AuthorizationAttributes) => boolean,
  rawHeaders?: readonly string[],
  { url = '/api', user = caller }: { readonly url?: string; readonly user?: UserInfo } = {},
): Promise<{ response: ApiResponse; context: RequestContext }> {
  const request = { method: 'GET', url, headers, rawHeaders };
  const context = new RequestContext(request as unknown as ApiRequest);
  context.readInfo();
  context.user = user;
  const authorizer = {
    authorize: (attributes: AuthorizationAttributes) => ({
      decision: allow(attributes) ? ('allow' as const) : ('no-opinion' as const),
      reason: '',
    }),
  };
  const serve = impersonationFilter(
    authorizer,
    new FakeClock(),
  )(async () => ({ status: 200, headers: {}, body: undefined }));
  return { response: await serve(context), context };
}

test('a request that names nobody else is its sender’s, and nobody is asked', async () => {
  const { response, context } = await pass({ accept: '*/*' }, () => assert.fail('no question is due'));
  assert.equal(response.status, 200);
  assert.equal(context.user, caller);
});

test('who may impersonate acts as the other', async () => {
  const asked: string[] = [];
  const { context } = await pass({ 'impersonate-user': 'bob', 'impersonate-group': 'devs' }, (a) => {
    if (a.verb !== 'impersonate') return false;
    asked.push(`${a.verb} ${a.resource} ${a.name}`);
    return true;
  });
  assert.deepEqual(asked, ['impersonate users bob', 'impersonate groups devs']);
  assert.equal(context.user.name, 'bob');
  assert.ok(context.user.groups.includes('devs'));
});

test('who may not is refused', async () => {
  const { response, context } = await pass({ 'impersonate-user': 'bob' }, () => false);
  assert.equal(response.status, 403);
  assert.equal(context.user, caller);
});

test('groups and extras without a user are an error', async () => {
  for (const headers of [{ 'impersonate-group': 'devs' }, { 'impersonate-extra-scopes': 'view' }]) {
    assert.equal((await pass(headers, () => true)).response.status, 400);
  }
});

test('a name with a comma is one name, and headers that are sent twice are two', async () => {
  const asked: string[] = [];
  const joined = {
    'impersonate-user': 'bob',
    'impersonate-group': 'a,b, c',
    'impersonate-extra-x': '1,2, 3',
  };
  const sent = ['Impersonate-User', 'bob', 'Impersonate-Group', 'a,b', 'Impersonate-Group', 'c'];
  sent.push('Impersonate-Extra-X', '1,2', 'Impersonate-Extra-X', '3');
  const allow = (a: AuthorizationAttributes): boolean => {
    if (a.verb !== 'impersonate') return false;
    asked.push(`${a.resource} ${a.name}`);
    return true;
  };
  const { context } = await pass(joined, allow, sent);
  assert.deepEqual(asked, ['users bob', 'groups a,b', 'groups c', 'userextras 1,2', 'userextras 3']);
  assert.deepEqual(context.user.groups, ['a,b', 'c', 'system:authenticated']);
  assert.deepEqual(context.user.extra, { x: ['1,2', '3'] });
});

interface Tried {
  readonly status: number;
  readonly message: string;
  readonly user: UserInfo;
  readonly constraint: string;
  /** All that was allowed. */
  readonly asked: readonly string[];
}

/** As somebody who may exactly this: `verb group/resource name`. */
async function tryAs(
  headers: Record<string, string>,
  rights: readonly string[],
  how: { readonly url?: string; readonly user?: UserInfo; readonly rawHeaders?: readonly string[] } = {},
): Promise<Tried> {
  const asked: string[] = [];
  const { response, context } = await pass(
    headers,
    (a) => {
      const of = a.isResource
        ? `${a.group}/${a.resource}${a.subresource === '' ? '' : `/${a.subresource}`}`
        : a.path;
      const text = `${a.verb} ${of} ${a.namespace === '' ? '' : `${a.namespace}:`}${a.name}`.trimEnd();
      if (!rights.includes(text)) return false;
      asked.push(text);
      return true;
    },
    how.rawHeaders,
    how,
  );
  const { status, body } = response;
  const message = Buffer.isBuffer(body)
    ? String((JSON.parse(body.toString()) as { message: string }).message)
    : '';
  return { status, message, asked, user: context.user, constraint: context.impersonationConstraint };
}
const list = '/api/v1/namespaces/default/pods';
const authn = 'authentication.k8s.io';

test('constrained: a right to be the user, and one to do this as a user', async () => {
  const rights = ['impersonate-on:user-info:list /pods default:', `impersonate:user-info ${authn}/users bob`];
  const bob = { 'impersonate-user': 'bob' };
  const allowed = await tryAs(bob, rights, { url: list });
  assert.deepEqual(
    [allowed.status, allowed.constraint, allowed.asked],
    [200, 'impersonate:user-info', rights],
  );
  assert.deepEqual(allowed.user, { name: 'bob', groups: ['system:authenticated'] });
  for (const missing of rights) {
    const some = rights.filter((right) => right !== missing);
    const refused = await tryAs(bob, some, { url: list });
    assert.deepEqual([refused.status, refused.user], [403, caller], missing);
  }
  const other = await tryAs(bob, rights, { url: '/api/v1/namespaces/default/secrets' });
  assert.equal(
    other.message,
    'secrets is forbidden: User "alice" cannot impersonate-on:user-info:list resource "secrets" in API group "" in the namespace "default"',
  );
});

test('what was before goes on: who may impersonate may do all that the other may', async () => {
  const { status, constraint } = await tryAs({ 'impersonate-user': 'bob' }, ['impersonate /users bob'], {
    url: list,
  });
  assert.deepEqual([status, constraint], [200, '']);
});

test('constrained: accounts and nodes have their own kinds, and no groups of one’s choice', async () => {
  const account = 'system:serviceaccount:ns:robot';
  const rights = [
    'impersonate-on:serviceaccount:list /pods default:',
    `impersonate:serviceaccount ${authn}/serviceaccounts ns:robot`,
  ];
  const robot = await tryAs({ 'impersonate-user': account }, rights, { url: list });
  assert.deepEqual(robot.user.groups, [
    'system:serviceaccounts',
    'system:serviceaccounts:ns',
    'system:authenticated',
  ]);
  const grouped = { 'impersonate-user': account, 'impersonate-group': 'system:masters' };
  assert.equal((await tryAs(grouped, rights, { url: list })).status, 403);
  // A right to be users is none to be accounts or nodes.
  const users = [
    'impersonate-on:user-info:list /pods default:',
    `impersonate:user-info ${authn}/users ${account}`,
  ];
  assert.equal((await tryAs({ 'impersonate-user': account }, users, { url: list })).status, 403);
  const node = { 'impersonate-user': 'system:node:n1' };
  const nodes = [
    'impersonate-on:arbitrary-node:list /pods default:',
    `impersonate:arbitrary-node ${authn}/nodes n1`,
  ];
  const n1 = await tryAs(node, nodes, { url: list });
  assert.deepEqual([n1.status, n1.user.groups], [200, ['system:nodes', 'system:authenticated']]);
  assert.equal((await tryAs({ 'impersonate-user': 'system:node:n2' }, nodes, { url: list })).status, 403);
});

test('constrained: an account is the node of its pod, and no other', async () => {
  const agent: UserInfo = {
    name: 'system:serviceaccount:kube-system:agent',
    groups: ['system:authenticated'],
    extra: { 'authentication.kubernetes.io/node-name': ['n1'] },
  };
  const rights = [
    'impersonate-on:associated-node:list /pods default:',
    `impersonate:associated-node ${authn}/nodes *`,
  ];
  const as = (node: string, user: UserInfo): Promise<Tried> =>
    tryAs({ 'impersonate-user': `system:node:${node}` }, rights, { url: list, user });
  const own = await as('n1', agent);
  assert.deepEqual(
    [own.status, own.user.name, own.constraint],
    [200, 'system:node:n1', 'impersonate:associated-node'],
  );
  assert.equal((await as('n2', agent)).status, 403);
  assert.equal((await as('n1', { ...agent, name: 'mallory' })).status, 403, 'no account');
  const two = { 'authentication.kubernetes.io/node-name': ['n1', 'n2'] };
  assert.equal((await as('n1', { ...agent, extra: two })).status, 403, 'of two nodes');
});

test('constrained: nobody becomes system:masters, or has keys and groups without a name', async () => {
  const rights = [
    'impersonate-on:user-info:list /pods default:',
    ...[
      'users bob',
      'groups devs',
      'groups *',
      'groups system:masters',
      'groups',
      'userextras/* *',
      'userextras/x y',
    ].map((what) => `impersonate:user-info ${authn}/${what}`),
  ];
  const as = (...more: string[]): Promise<Tried> =>
    tryAs({ 'impersonate-user': 'bob' }, rights, {
      url: list,
      rawHeaders: ['Impersonate-User', 'bob', ...more],
    });
  assert.equal((await as('Impersonate-Group', 'devs')).status, 200);
  assert.equal(
    (await as('Impersonate-Group', 'system:masters')).message,
    `groups.${authn} "system:masters" is forbidden: User "alice" cannot impersonate:user-info resource "groups" in API group "${authn}" at the cluster scope: impersonating the system:masters group is not allowed`,
  );
  const groups = ['a', 'b', 'c', 'd'].flatMap((name) => ['Impersonate-Group', name]);
  assert.equal((await as(...groups)).status, 200, 'many groups at once');
  assert.equal((await as(...groups.slice(2))).status, 403, 'three are asked for one by one');
  assert.match(
    (await as('Impersonate-Extra-X', 'y')).message,
    /impersonating an invalid key in extra is not allowed/,
  );
  assert.equal((await as(...groups, 'Impersonate-Group', 'system:masters')).status, 403);
});
