// Parameters that a tenant makes many and large do not hold up others while policies are asked with them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

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
