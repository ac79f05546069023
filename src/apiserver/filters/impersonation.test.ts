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
): Promise<{ response: ApiResponse; context: RequestContext }> {
  const context = new RequestContext({ method: 'GET', url: '/api', headers } as unknown as ApiRequest);
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
