// Answers about rights, tokens and images are kept for who asks again: neither those who ask nor services that lie fill the memory with them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pods } from '../../src/api/generated/resources.ts';
import type { AdmissionRequest } from '../../src/apiserver/admission/admission.ts';
import type { AuthorizationAttributes } from '../../src/apiserver/authorization/authorizer.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';
import { createEventRateLimit } from '../../src/plugins/admission/event-rate-limit.ts';
import { createImagePolicyWebhook } from '../../src/plugins/admission/image-policy-webhook.ts';
import { cachedTokens } from '../../src/plugins/authentication/tokens/cached-tokens.ts';
import { tokenCacheMetrics } from '../../src/plugins/authentication/tokens/token-cache-metrics.ts';
import { createWebhookTokenAuthenticator } from '../../src/plugins/authentication/webhook-token-authenticator.ts';
import { createWebhookAuthorizer } from '../../src/plugins/authorization/webhook-authorizer.ts';
import type { RemoteReviewer } from '../../src/plugins/webhook/remote-reviewer.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

const heapMb = (): number => {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
};

const times = 40;
/** Of each question, or of each answer. */
const megabytes = 2;
const long = (n: number): string => `${n}${'x'.repeat(megabytes << 20)}`;

/** Of all that was asked a part stays, if any. */
async function staysSmall(ask: (n: number) => unknown): Promise<void> {
  await ask(-1);
  const before = heapMb();
  for (let n = 0; n < times; n++) await ask(n);
  const grown = heapMb() - before;
  assert.ok(grown < (times * megabytes) / 2, `${grown} MB`);
}

/** A service; what it is asked comes and goes as text, as over a wire. */
function service(status: (n: number) => object): { reviewer: RemoteReviewer; asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    reviewer: { review: async () => JSON.parse(JSON.stringify({ status: status(asked++) })) },
  };
}

test('anybody may ask for their own rights in a namespace of any length, and no answer is kept with it', async () => {
  const plane = await startTestControlPlane();
  after(() => plane.close());
  await staysSmall(async (n) => {
    const { status } = await plane.ask(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      { spec: { resourceAttributes: { namespace: long(n), verb: 'get', resource: 'pods' } } },
      { user: user('anybody') },
    );
    assert.equal(status, 201);
  });
});

function webhookAuthorizer(reviewer: RemoteReviewer) {
  const authorizer = createWebhookAuthorizer({
    reviewer,
    clock: systemClock,
    version: 'v1',
    authorizedMs: 300_000,
    unauthorizedMs: 30_000,
    failurePolicy: 'Deny',
    conditions: [],
    failed: assert.ifError,
  });
  return (more: Partial<AuthorizationAttributes>) =>
    authorizer.authorize({
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
      ...more,
    });
}

test('an authorization webhook is asked with selectors and users of any length, and says reasons of any length', async () => {
  const short = service(() => ({ allowed: true }));
  const ask = webhookAuthorizer(short.reviewer);
  await staysSmall((n) => ask({ labelSelector: [{ key: 'a', operator: 'In' as const, values: [long(n)] }] }));
  await staysSmall((n) => ask({ user: { ...user('anybody'), extra: { a: [long(n)] } } }));
  const talker = service((n) => ({ allowed: false, reason: long(n) }));
  const askTalker = webhookAuthorizer(talker.reviewer);
  await staysSmall((n) => askTalker({ name: `${n}` }));
  const asked = short.asked();
  for (let i = 0; i < 3; i++) assert.deepEqual(await ask({}), { decision: 'allow', reason: '' });
  assert.equal(short.asked(), asked + 1, 'what is short is kept');
});

test('a token webhook that names groups without end fills no memory with them', async () => {
  const { reviewer, asked } = service((n) => ({
    authenticated: true,
    user: { username: 'a', groups: [n < 3 ? 'short' : long(n)] },
  }));
  const tokens = cachedTokens(
    createWebhookTokenAuthenticator({ reviewer, version: 'v1', apiAudiences: ['api'] }),
    { clock: systemClock, ttlMs: () => 60_000, metrics: tokenCacheMetrics(createMetrics()) },
  );
  for (const audiences of [['api'], ['api'], ['api', 'b'], ['api', 'b']])
    await tokens.authenticateToken('token', audiences);
  assert.equal(asked(), 2, 'what is short is kept, for the audiences that it was asked for');
  await staysSmall((n) => tokens.authenticateToken(`${n}`, ['api']));
});

test('an image policy is asked about annotations of any length, and says anything', async () => {
  const { reviewer } = service((n) => ({ allowed: true, auditAnnotations: n % 2 ? { a: long(n) } : {} }));
  const plugin = createImagePolicyWebhook({
    settings: { allowTtlMs: 60_000, denyTtlMs: 60_000, defaultAllow: false } as never,
    reviewer,
    clock: systemClock,
  });
  const created = (n: number): AdmissionRequest => {
    const annotations = { 'a.image-policy.k8s.io/b': n % 2 ? `${n}` : long(n) };
    const object = {
      metadata: { name: 'a', annotations },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    };
    return {
      operation: 'CREATE',
      declaration: { ...pods, kind: 'Pod' },
      subresource: '',
      namespace: 'default',
      name: 'a',
      object,
      annotate: () => {},
    } as unknown as AdmissionRequest;
  };
  await staysSmall((n) => plugin.validate?.(created(n)));
});

test('events of objects with names of any length are counted, each for itself, and their names are not kept', async () => {
  const plugin = createEventRateLimit([{ type: 'SourceAndObject', qps: 1, burst: 2, cacheSize: 0 }], {
    ...systemClock,
    monotonic: () => 0,
  });
  const event = (name: string): AdmissionRequest =>
    ({ declaration: { kind: 'Event' }, object: { involvedObject: { name } } }) as unknown as AdmissionRequest;
  await staysSmall((n) => plugin.validate?.(event(long(n))));
  for (const name of ['a', long(-2)]) {
    for (let i = 0; i < 2; i++) plugin.validate?.(event(name));
    assert.throws(() => plugin.validate?.(event(name)), /limit reached on type SourceAndObject for key /);
  }
});
