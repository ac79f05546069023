// What is wrong with a request is told at a length that has to do with the request, not with its square.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;

test('a manager of fields of thousands of letters that are none: one fault, where each told of all of it', async () => {
  const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
  const asked = (letters: number) =>
    ask('POST', `${reviews}?fieldManager=${'%01'.repeat(letters)}`, review, { user: user('eve') });
  // 350 MB of answer and 1.5 GB of memory at 5,000 letters; at 20,000 the server ended.
  const refused = await asked(20_000);
  assert.equal(refused.status, 422);
  assert.equal(
    refused.message,
    'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
  );
  const short = await asked(2);
  assert.match(short.message, /invalid character U\+0001 \(at position 0\).*\(at position 1\)\]$/);
});

test('a webhook whose path has a million empty segments: the first faults, each of which shows the path', async () => {
  const refused = await ask('POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'a' },
    webhooks: [
      {
        name: 'a.example.com',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        clientConfig: { service: { name: 's', namespace: 'n', path: '/'.repeat(1_000_000) } },
      },
    ],
  });
  assert.equal(refused.status, 422);
  assert.match(refused.message, /segment\[0\] may not be empty/);
  assert.ok(refused.text.length < 2_000_000, String(refused.text.length));
});

test('a schedule of a million stars, which the controller would read again and again, is refused', async () => {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
  const create = (schedule: string) =>
    ask('POST', '/apis/batch/v1/namespaces/default/cronjobs', {
      metadata: { generateName: 'a' },
      spec: { schedule, jobTemplate: { spec: { template } } },
    });
  for (const text of [`${'*,'.repeat(1_000_000)}* * * * *`, `@every ${'1s'.repeat(1_000_000)}`]) {
    const refused = await create(text);
    assert.equal(refused.status, 422);
    assert.match(refused.message, /: a schedule may not be longer than 4096 characters$/);
  }
  const all = Array.from({ length: 60 }, (_, i) => i).join();
  assert.equal((await create(`${all} * 1-31 jan-dec sun-sat`)).status, 201);
});
