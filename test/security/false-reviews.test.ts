// Services that answer reviews with other types than theirs, or with what they were not asked for: nobody comes in by it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { user } from '../../src/controlplane/testing/test-control-plane.ts';
import { createWebhookTokenAuthenticator } from '../../src/plugins/authentication/webhook-token-authenticator.ts';
import { createWebhookAuthorizer } from '../../src/plugins/authorization/webhook-authorizer.ts';
import type { RemoteReviewer } from '../../src/plugins/webhook/remote-reviewer.ts';

/** Says what it is told to, as text. */
const liar = (answer: object): RemoteReviewer => ({
  review: async () => JSON.parse(JSON.stringify(answer)),
});

const attributes = {
  user: user('anybody'),
  verb: 'list',
  isResource: true,
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
  path: '',
};
const decision = async (failurePolicy: 'Deny' | 'NoOpinion', answer: object): Promise<string> => {
  const authorizer = createWebhookAuthorizer({
    reviewer: liar(answer),
    clock: systemClock,
    version: 'v1',
    authorizedMs: 300_000,
    unauthorizedMs: 30_000,
    failurePolicy,
    conditions: [],
    failed: () => {},
  });
  const { decision: said, error = '' } = await authorizer.authorize(attributes);
  return [said, error].filter((text) => text !== '').join(': ');
};

const field = 'json: cannot unmarshal string into Go struct field';
const faulty: readonly (readonly [object, string])[] = [
  [
    { status: { allowed: true, denied: 'true' } },
    `${field} SubjectAccessReviewStatus.status.denied of type bool`,
  ],
  [{ status: { allowed: 'true' } }, `${field} SubjectAccessReviewStatus.status.allowed of type bool`],
  [{ status: 'allowed' }, `${field} SubjectAccessReview.status of type v1.SubjectAccessReviewStatus`],
];
for (const [answer, why] of faulty)
  test(`an authorizer that says ${JSON.stringify(answer)} has failed`, async () => {
    assert.equal(await decision('Deny', answer), `deny: ${why}`);
    assert.equal(await decision('NoOpinion', answer), `no-opinion: ${why}`);
  });

test('an authorizer that says something else, or nothing, has allowed nothing', async () => {
  for (const answer of [{}, { status: null }, { allowed: true }, { spec: { allowed: true } }])
    assert.equal(await decision('Deny', answer), 'no-opinion', JSON.stringify(answer));
  assert.equal(await decision('Deny', { status: { allowed: true, denied: null } }), 'allow');
});

const vouches = async (status: unknown): Promise<unknown> =>
  createWebhookTokenAuthenticator({
    reviewer: liar({ status } as object),
    version: 'v1',
    apiAudiences: ['api'],
  }).authenticateToken('token', ['api']);

test('a token webhook vouches for whole users only, and for the audiences that it was asked about', async () => {
  const known = { authenticated: true, user: { username: 'a', groups: ['g'] } };
  assert.deepEqual(await vouches(known), { user: { name: 'a', groups: ['g'] }, audiences: ['api'] });
  for (const wrong of [
    { ...known, user: { username: 5 } },
    { ...known, user: { username: 'a', groups: 'system:masters' } },
    { ...known, user: { username: 'a', groups: ['g', {}] } },
    { ...known, user: { username: 'a', extra: { a: 'b' } } },
    { ...known, user: ['a'] },
    { ...known, authenticated: 'true' },
    { ...known, audiences: 'api' },
    'yes',
  ]) {
    const verdict = (await vouches(wrong)) as { refused?: string } | undefined;
    assert.match(verdict?.refused ?? '', /^json: cannot unmarshal /, JSON.stringify(wrong));
  }
  for (const nobody of [{ ...known, authenticated: false }, { ...known, audiences: ['other'] }, {}, null])
    assert.equal(await vouches(nobody), undefined, JSON.stringify(nobody));
});
