// Parameters that a tenant makes many and large do not hold up others while policies are asked with them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';

/** A millisecond has passed whenever somebody looks: what counts is how often others have a turn, not how fast this machine is. */
let time = 0;
const plane = await startTestControlPlane({ clock: { ...systemClock, monotonic: () => time++ } });
after(() => plane.close());
const { ask } = plane;
const registration = '/apis/admissionregistration.k8s.io/v1';
const count = 400;

async function make(url: string, body: object): Promise<void> {
  const answer = await ask('POST', url, body);
  assert.equal(answer.status, 201, answer.text);
}

/** How often the event loop came round until the answer was there. */
async function roundsOf(writing: ReturnType<typeof ask>): Promise<{ rounds: number; status: number }> {
  let rounds = 0;
  let isOver = false;
  const done = writing.then(({ status }) => {
    isOver = true;
    return status;
  });
  while (!isOver) {
    rounds++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { rounds, status: await done };
}

for (const kind of ['Validating', 'Mutating'])
  test(`${kind}: a binding with hundreds of parameters gives others a turn every few of them`, async () => {
    const namespace = kind.toLowerCase();
    await make('/api/v1/namespaces', { metadata: { name: namespace } });
    const a = 'x'.repeat(1000);
    for (let i = 0; i < count; i++)
      await make(`/api/v1/namespaces/${namespace}/configmaps`, {
        metadata: { name: `p${i}`, labels: { policy: 'yes' } },
        data: { a },
      });
    const plural = `${namespace}admissionpolic`;
    const isValidating = kind === 'Validating';
    await make(`${registration}/${plural}ies`, {
      metadata: { name: namespace },
      spec: {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] },
          ],
        },
        ...(isValidating
          ? { validations: [{ expression: 'params.data.a != object.metadata.name' }] }
          : {
              reinvocationPolicy: 'Never',
              matchConditions: [{ name: 'c', expression: 'params.data.a == object.metadata.name' }],
              mutations: [
                {
                  patchType: 'JSONPatch',
                  jsonPatch: { expression: '[JSONPatch{op: "test", path: "/kind"}]' },
                },
              ],
            }),
      },
    });
    await make(`${registration}/${plural}ybindings`, {
      metadata: { name: namespace },
      spec: {
        policyName: namespace,
        ...(isValidating ? { validationActions: ['Deny'] } : {}),
        paramRef: { selector: { matchLabels: { policy: 'yes' } }, parameterNotFoundAction: 'Deny' },
      },
    });
    // Parsed at first, and remembered then.
    for (const name of ['first', 'second']) {
      const written = ask('POST', `/api/v1/namespaces/${namespace}/secrets`, { metadata: { name } });
      const { rounds, status } = await roundsOf(written);
      assert.equal(status, 201);
      assert.ok(rounds > count / 10, `${rounds} rounds`);
    }
  });

test('a parameter that is there and can not be read is no missing one: failurePolicy decides', async (t) => {
  const storage = new MemoryStorage(systemClock);
  const first = await startTestControlPlane({ storage });
  t.after(() => first.close());
  let server = first;
  const url = '/api/v1/namespaces/default/configmaps';
  await server.ask('POST', url, { metadata: { name: 'limit' }, data: { a: 'b' } });
  const policy = (failurePolicy: string): object => ({
    metadata: { name: failurePolicy.toLowerCase() },
    spec: {
      failurePolicy,
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] },
        ],
      },
      validations: [{ expression: 'params.data.a == object.metadata.name' }],
    },
  });
  const plural = `${registration}/validatingadmissionpolic`;
  for (const failurePolicy of ['Fail', 'Ignore']) {
    const name = failurePolicy.toLowerCase();
    const made = await server.ask('POST', `${plural}ies`, policy(failurePolicy));
    assert.equal(made.status, 201, made.text);
    const paramRef = { name: 'limit', namespace: 'default', parameterNotFoundAction: 'Allow' };
    const spec = { policyName: name, validationActions: ['Deny'], paramRef };
    assert.equal((await server.ask('POST', `${plural}ybindings`, { metadata: { name }, spec })).status, 201);
  }
  const secret = (name: string) =>
    server.ask('POST', '/api/v1/namespaces/default/secrets?dryRun=All', { metadata: { name } });
  assert.deepEqual([(await secret('a')).status, (await secret('b')).status], [422, 201]);
  const { entries } = await storage.list('');
  const { key, revision } = entries.find((entry) => entry.key.endsWith('configmaps/default/limit'))!;
  await storage.update(key, { bytes: Buffer.from('{'), revisionAt: -1 }, revision);
  server = await startTestControlPlane({ storage, pki: first.pki });
  t.after(() => server.close());
  assert.equal((await server.ask('GET', `${url}/limit`)).status, 500);
  const refused = await secret('b');
  assert.equal(refused.status, 422, refused.text);
  assert.match(
    String(refused.body['message']),
    /ValidatingAdmissionPolicy 'fail' with binding 'fail' denied request: failed to configure binding: .*corrupt object/,
  );
  const deleted = await server.ask('DELETE', `${plural}ies/fail`);
  assert.equal(deleted.status, 200, deleted.text);
  assert.equal((await secret('b')).status, 201);
});
