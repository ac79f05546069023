// Acting as somebody else: who may, who may not, and headers that name nobody.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthorizationAttributes } from '../authorization/authorizer.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { RequestContext } from '../request-context.ts';
import { impersonationFilter } from './impersonation.ts';

const caller = { name: 'alice', groups: ['system:authenticated'] };

async function pass(
  headers: Record<string, string>,
  allow: (attributes: AuthorizationAttributes) => boolean,
  rawHeaders?: readonly string[],
): Promise<{ response: ApiResponse; context: RequestContext }> {
  const request = { method: 'GET', url: '/api', headers, rawHeaders };
  const context = new RequestContext(request as unknown as ApiRequest);
  context.user = caller;
  const authorizer = {
    authorize: (attributes: AuthorizationAttributes) => ({
      decision: allow(attributes) ? ('allow' as const) : ('no-opinion' as const),
      reason: '',
    }),
  };
  const serve = impersonationFilter(authorizer)(async () => ({ status: 200, headers: {}, body: undefined }));
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
    assert.equal((await pass(headers, () => true)).response.status, 500);
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
    asked.push(`${a.resource} ${a.name}`);
    return true;
  };
  const { context } = await pass(joined, allow, sent);
  assert.deepEqual(asked, ['users bob', 'groups a,b', 'groups c', 'userextras 1,2', 'userextras 3']);
  assert.deepEqual(context.user.groups, ['a,b', 'c', 'system:authenticated']);
  assert.deepEqual(context.user.extra, { x: ['1,2', '3'] });
});
