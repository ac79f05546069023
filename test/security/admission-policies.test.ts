// Policies that are expensive, deep or about themselves, and requests that make them so.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { type Answer, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const registration = '/apis/admissionregistration.k8s.io/v1';
const [policies, bindings] = [
  `${registration}/validatingadmissionpolicies`,
  `${registration}/validatingadmissionpolicybindings`,
];
const configMaps = '/api/v1/namespaces/default/configmaps';
const everything = {
  resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
};

const made: string[] = [];
afterEach(async () => {
  for (const url of made.splice(0).reverse()) assert.equal((await ask('DELETE', url)).status, 200);
});
async function enforce(name: string, spec: JsonObject): Promise<void> {
  const body = { metadata: { name }, spec: { matchConstraints: everything, ...spec } };
  const stored = await ask('POST', policies, body);
  assert.equal(stored.status, 201, stored.text);
  made.push(`${policies}/${name}`);
  const bound = await ask('POST', bindings, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  assert.equal(bound.status, 201, bound.text);
  made.push(`${bindings}/${name}`);
}
const create = (name: string, data: JsonObject = {}): Promise<Answer> =>
  ask('POST', configMaps, { metadata: { name }, data });

test('a policy that refuses everything neither keeps itself nor others from being changed and removed', async () => {
  await enforce('closed', { validations: [{ expression: 'false', message: 'closed' }] });
  assert.equal((await create('a')).status, 422);
  assert.equal((await ask('POST', '/api/v1/namespaces', { metadata: { name: 'n' } })).status, 422);
  await enforce('other', { validations: [{ expression: 'false' }] });
  const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } };
  const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  assert.equal((await ask('POST', reviews, review)).status, 201);
  const relaxed = await ask('PATCH', `${bindings}/closed`, { spec: { validationActions: ['Audit'] } });
  assert.equal(relaxed.status, 200, relaxed.text);
  const gone = await ask('DELETE', `${bindings}/other`);
  assert.equal(gone.status, 200, gone.text);
  made.pop();
  assert.equal((await create('a')).status, 201);
});

/** Quadratic in the size of the object. */
const dear = 'object.data.all(a, object.data.all(b, object.data.all(c, a != "x" || b != "y" || c != "z")))';
const many = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

test('an expression that costs too much is refused as failurePolicy says, and its cost is the end of it', async () => {
  await enforce('dear', { validations: [{ expression: dear }] });
  assert.equal((await create('few', many(5))).status, 201);
  const refused = await create('many', many(2000));
  assert.equal(refused.status, 422);
  assert.match(refused.message, /operation cancelled: actual cost limit exceeded$/);
  await enforce('forgiving', { failurePolicy: 'Ignore', validations: [{ expression: dear }] });
  await ask('PATCH', `${policies}/dear`, { spec: { failurePolicy: 'Ignore' } });
  assert.equal((await create('many', many(2000))).status, 201);
});

test('all expressions of a binding have one budget, in variables, too; others are served meanwhile', async () => {
  const variables = Array.from({ length: 30 }, (_, i) => ({
    name: `v${i}`,
    expression: `object.data.all(a, object.data.all(b, a != "${i}" || b != "x"))`,
  }));
  await enforce('sum', {
    matchConstraints: {
      resourceRules: [
        { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
      ],
    },
    variables,
    validations: variables.map(({ name }) => ({ expression: `variables.${name}` })),
  });
  const writing = create('sum', many(300));
  let reads = 0;
  let isWritten = false;
  void writing.then(() => {
    isWritten = true;
  });
  while (!isWritten) {
    assert.equal((await ask('GET', '/api/v1/namespaces/default')).status, 200);
    reads++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const refused = await writing;
  assert.match(
    refused.message,
    /running out of cost budget, no further validation rules will be run$/,
    refused.text,
  );
  assert.ok(reads > 5, `${reads} reads`);
});

test('one expression that names hundreds of dear variables is done when the budget is', async () => {
  const variables = Array.from({ length: 300 }, (_, i) => ({
    name: `v${i}`,
    expression: `object.data.all(a, object.data.all(b, a != "${i}" || b != "x")) ? 1 : 2`,
  }));
  await enforce('named', {
    variables,
    validations: [
      { expression: `[${variables.map(({ name }) => `variables.${name}`).join()}].size() == 300` },
    ],
  });
  const from = process.cpuUsage();
  const refused = await create('named', many(300));
  assert.match(refused.message, /running out of cost budget, no further validation rules will be run$/);
  // All of them: ten seconds and more.
  assert.ok(process.cpuUsage(from).user < 4_000_000, String(process.cpuUsage(from).user));
});

test('variables that are built on one another ten thousand deep, and texts of any length, are answered', async () => {
  const chain = Array.from({ length: 5000 }, (_, i) => ({
    name: `v${i}`,
    expression: i === 0 ? 'true' : `variables.v${i - 1}`,
  }));
  await enforce('deep', { variables: chain, validations: [{ expression: 'variables.v4999 == true' }] });
  const answer = await create('deep');
  assert.ok([201, 422].includes(answer.status), answer.text);
  assert.equal((await ask('GET', '/api/v1/namespaces/default')).status, 200);
  const long = await ask('POST', policies, {
    metadata: { name: 'long' },
    spec: { matchConstraints: everything, validations: [{ expression: `'${'x'.repeat(200_000)}' == ''` }] },
  });
  assert.match(long.message, /expression code point size exceeds limit/);
});

test('what an expression says can neither break a header nor the audit log', async () => {
  await enforce('rude', {
    validations: [{ expression: 'object.nothing.that.is == "\\r\\nset-cookie: a=b"' }],
    auditAnnotations: [{ key: 'long', valueExpression: "object.metadata.name + 'é'" }],
  });
  await ask('PATCH', `${bindings}/rude`, { spec: { validationActions: ['Warn', 'Audit'] } });
  const answer = await create('rude');
  assert.equal(answer.status, 201, answer.text);
  const [warning = ''] = answer.warnings;
  assert.match(warning, /Validation failed for ValidatingAdmissionPolicy 'rude'/);
  assert.doesNotMatch(warning, /[\r\n]/);
});

test('what a mutating policy makes is bounded, of its kind and where the request wanted it', async () => {
  const [mutating, mutatingBindings] = [
    `${registration}/mutatingadmissionpolicies`,
    `${registration}/mutatingadmissionpolicybindings`,
  ];
  const mutate = async (mutations: JsonObject[], more: JsonObject = {}): Promise<Answer> => {
    const stored = await ask('POST', mutating, {
      metadata: { name: 'm' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
          ],
        },
        reinvocationPolicy: 'IfNeeded',
        mutations,
        ...more,
      },
    });
    assert.equal(stored.status, 201, stored.text);
    await ask('POST', mutatingBindings, { metadata: { name: 'm' }, spec: { policyName: 'm' } });
    const answer = await create('mutated', { a: 'x'.repeat(1000) });
    await ask('DELETE', `${configMaps}/mutated`);
    await ask('DELETE', `${mutatingBindings}/m`);
    await ask('DELETE', `${mutating}/m`);
    return answer;
  };
  const patch = (expression: string): JsonObject => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
  const doubling = Array.from(
    { length: 40 },
    (_, i) => `JSONPatch{op: "copy", from: "/data", path: "/data/k${i}"}`,
  );
  const doubled = await mutate([patch(`[${doubling.join(', ')}]`)]);
  assert.equal(doubled.status, 403);
  assert.match(doubled.message, /denied request: JSON Patch: /);
  const appended = await mutate([
    {
      patchType: 'ApplyConfiguration',
      applyConfiguration: { expression: 'Object{data: {"a": object.data.a + "!"}}' },
    },
  ]);
  // Once, and once again.
  assert.equal((appended.body['data'] as JsonObject)['a'], `${'x'.repeat(1000)}!!`);
  const moved = await mutate([
    patch('[JSONPatch{op: "replace", path: "/metadata/namespace", value: "kube-system"}]'),
  ]);
  assert.ok(moved.status >= 400, moved.text);
  const other = await mutate([patch('[JSONPatch{op: "replace", path: "/kind", value: "Secret"}]')]);
  assert.ok(other.status >= 400, other.text);
  const proto = await mutate([patch('[JSONPatch{op: "add", path: "/data/__proto__", value: "x"}]')]);
  assert.ok(Object.getPrototypeOf({}) === Object.prototype && !('x' in {}), proto.text);
  const endless = await mutate([
    patch(
      '[JSONPatch{op: "add", path: "/data/b", value: object.data.a.replace("x", object.data.a).replace("x", object.data.a)}]',
    ),
  ]);
  assert.ok(endless.status >= 400, endless.text.slice(0, 200));
});

test('what a policy is shown of a subresource is what the request is about, whatever its body says', async () => {
  const namespace = 'bank';
  assert.equal((await ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } })).status, 201);
  const within = `/api/v1/namespaces/${namespace}`;
  assert.equal((await ask('POST', `${within}/serviceaccounts`, { metadata: { name: 'a' } })).status, 201);
  const pod = {
    metadata: { name: 'p' },
    spec: { serviceAccountName: 'a', containers: [{ name: 'c', image: 'c' }] },
  };
  const stored = await ask('POST', `${within}/pods`, pod);
  assert.equal(stored.status, 201, stored.text);
  await enforce('protected', {
    matchConstraints: {
      resourceRules: [
        {
          operations: ['CREATE'],
          apiGroups: [''],
          apiVersions: ['*'],
          resources: ['pods/eviction', 'pods/binding', 'bindings', 'serviceaccounts/token'],
        },
      ],
    },
    validations: [{ expression: 'object.metadata.namespace != "bank"', message: 'protected' }],
  });
  const target = { kind: 'Node', name: 'n' };
  const requests: readonly (readonly [path: string, body: JsonObject, name: string])[] = [
    ['pods/p/eviction', { apiVersion: 'policy/v1', kind: 'Eviction' }, 'p'],
    ['pods/p/binding', { apiVersion: 'v1', kind: 'Binding', target }, 'p'],
    ['bindings', { apiVersion: 'v1', kind: 'Binding', target }, 'p'],
    ['serviceaccounts/a/token', { spec: {} }, 'a'],
  ];
  for (const [path, body, name] of requests) {
    const send = (metadata: JsonObject): Promise<Answer> =>
      ask('POST', `${within}/${path}`, { ...body, metadata });
    for (const metadata of [{ name }, { name, namespace }]) {
      const refused = await send(metadata);
      assert.equal(refused.status, 422, `${path}: ${refused.text}`);
      assert.match(String(refused.body.message), /protected$/);
    }
    const elsewhere = await send({ name, namespace: 'default' });
    assert.equal(elsewhere.status, 400, `${path}: ${elsewhere.text}`);
    assert.equal(
      elsewhere.body.message,
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
});

test('a binding and a request for a token name whom their address names', async () => {
  const within = '/api/v1/namespaces/default';
  const account = await ask('POST', `${within}/serviceaccounts`, { metadata: { name: 'named' } });
  assert.equal(account.status, 201, account.text);
  const bound = await ask('POST', `${within}/pods/p/binding`, {
    metadata: { name: 'q' },
    target: { kind: 'Node', name: 'n' },
  });
  assert.equal(bound.status, 400);
  assert.equal(bound.body.message, 'name in URL does not match name in Binding object');
  const token = await ask('POST', `${within}/serviceaccounts/named/token`, {
    metadata: { name: 'q' },
    spec: {},
  });
  assert.equal(token.status, 422);
  assert.match(
    String(token.body.message),
    /metadata\.name: Invalid value: "q": must match the service account name if specified$/,
  );
});

test('a policy about a request for a token sees what is asked for by default: audiences, and whose it is', async () => {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  assert.equal((await ask('POST', accounts, { metadata: { name: 'robot' } })).status, 201);
  made.push(`${accounts}/robot`);
  const matchConstraints = {
    resourceRules: [
      {
        operations: ['CREATE'],
        apiGroups: [''],
        apiVersions: ['v1'],
        resources: ['serviceaccounts/token'],
      },
    ],
  };
  await enforce('audiences', {
    matchConstraints,
    validations: [
      { expression: "!object.spec.audiences.exists(a, a.startsWith('https://kubernetes'))", message: 'ours' },
      { expression: "object.metadata.name == 'robot' && object.metadata.namespace == 'default'" },
      { expression: 'has(object.metadata.uid) && has(object.metadata.creationTimestamp)' },
    ],
  });
  const token = (spec: JsonObject): Promise<Answer> => ask('POST', `${accounts}/robot/token`, { spec });
  const refused = await token({});
  assert.deepEqual(
    [refused.status, / denied request: ours$/.test(refused.message)],
    [422, true],
    refused.text,
  );
  assert.equal((await token({ audiences: ['elsewhere'] })).status, 201);
});
