// ValidatingAdmissionPolicy against a real control plane: what upstream's end-to-end tests expect of it, and more.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import {
  type Answer,
  startTestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const registration = '/apis/admissionregistration.k8s.io/v1';
const configMaps = '/api/v1/namespaces/default/configmaps';
const everyConfigMap = {
  resourceRules: [
    { operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
  ],
};

const made: string[] = [];
afterEach(async () => {
  for (const url of made.splice(0).reverse()) await ask('DELETE', url);
});

async function make(
  url: string,
  body: JsonObject & { metadata: JsonObject & { name: string } },
): Promise<void> {
  const answer = await ask('POST', url, body);
  assert.equal(answer.status, 201, answer.text);
  made.push(`${url}/${body.metadata.name}`);
}

interface Bound {
  readonly binding?: JsonObject;
  readonly name?: string;
}
async function policy(spec: JsonObject, { binding = {}, name = 'p' }: Bound = {}): Promise<void> {
  await make(`${registration}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: { matchConstraints: everyConfigMap, ...spec },
  });
  await make(`${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: `${name}-binding` },
    spec: { policyName: name, validationActions: ['Deny'], ...binding },
  });
}

let count = 0;
async function create(more: object = {}, as?: ReturnType<typeof user>): Promise<Answer> {
  const name = `c${count++}`;
  const answer = await ask('POST', configMaps, { metadata: { name }, ...more }, as ? { user: as } : {});
  if (answer.status === 201) made.push(`${configMaps}/${name}`);
  return answer;
}
const lastName = (): string => `c${count - 1}`;
const details = (answer: Answer): unknown => answer.body['details'];

test('a request that a validation does not hold for is refused in upstream words', async () => {
  await policy({ validations: [{ expression: "object.data.a == 'yes'" }] });
  assert.equal((await create({ data: { a: 'yes' } })).status, 201);
  const refused = await create({ data: { a: 'no' } });
  const why = `ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied request: failed expression: object.data.a == 'yes'`;
  assert.deepEqual(
    [refused.status, refused.body['reason'], refused.message],
    [422, 'Invalid', `configmaps "${lastName()}" is forbidden: ${why}`],
  );
  assert.deepEqual(details(refused), {
    name: lastName(),
    kind: 'configmaps',
    causes: [{ message: why }],
  });
  const failed = await create();
  assert.equal(
    failed.message,
    `configmaps "${lastName()}" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-binding' denied request: expression 'object.data.a == 'yes'' resulted in error: no such key: data`,
  );
});

test('messages, message expressions and reasons are the answer', async () => {
  const validations = [
    { expression: "object.data.a != '1'", message: ' said ', reason: 'Forbidden' },
    { expression: "object.data.a != '2'", messageExpression: "'a is ' + object.data.a", message: 'not this' },
    { expression: "object.data.a != '3'", messageExpression: 'string(object.data.nothing)', message: 'this' },
    { expression: "object.data.a != '4'", messageExpression: "'two\\nlines'", reason: 'Unauthorized' },
    { expression: "object.data.a != '5'", reason: 'RequestEntityTooLarge' },
  ];
  await policy({ validations });
  const expected: [number, string, string][] = [
    [403, 'Forbidden', 'said'],
    [422, 'Invalid', 'a is 2'],
    [422, 'Invalid', 'this'],
    [401, 'Unauthorized', "failed expression: object.data.a != '4'"],
    [413, 'RequestEntityTooLarge', "failed expression: object.data.a != '5'"],
  ];
  for (const [index, [code, reason, message]] of expected.entries()) {
    const answer = await create({ data: { a: String(index + 1) } });
    assert.deepEqual([answer.status, answer.body['reason']], [code, reason]);
    assert.ok(answer.message.endsWith(`denied request: ${message}`), answer.message);
  }
});

test('a policy without a binding, or with one that is gone, decides nothing', async () => {
  await make(`${registration}/validatingadmissionpolicies`, {
    metadata: { name: 'alone' },
    spec: { matchConstraints: everyConfigMap, validations: [{ expression: 'false' }] },
  });
  assert.equal((await create()).status, 201);
  const url = `${registration}/validatingadmissionpolicybindings`;
  const body = { metadata: { name: 'b' }, spec: { policyName: 'alone', validationActions: ['Deny'] } };
  await ask('POST', url, body);
  assert.equal((await create()).status, 422);
  await ask('DELETE', `${url}/b`);
  assert.equal((await create()).status, 201);
});

test('Warn warns, Audit does not refuse, and an update is judged by the old object, too', async () => {
  await policy(
    { validations: [{ expression: "!has(object.data) || object.data.a == 'yes'", message: 'say yes' }] },
    { binding: { validationActions: ['Warn', 'Audit'] } },
  );
  const warned = await create({ data: { a: 'no' } });
  assert.equal(warned.status, 201);
  assert.deepEqual(
    warned.warnings.filter((text) => text.includes('Validation failed')),
    ["299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': say yes\""],
  );
  await policy(
    { validations: [{ expression: 'oldObject == null || oldObject.data == object.data' }] },
    { name: 'frozen' },
  );
  const url = `${configMaps}/${lastName()}`;
  assert.equal((await ask('PATCH', url, { data: { a: 'b' } })).status, 422);
  assert.equal((await ask('PATCH', url, { metadata: { labels: { a: 'b' } } })).status, 200);
});

test('variables are made of one another, lazily; has() knows them', async () => {
  await policy({
    variables: [
      { name: 'data', expression: 'has(object.data) ? object.data : {}' },
      { name: 'size', expression: 'variables.data.size()' },
      { name: 'broken', expression: 'object.nothing' },
    ],
    validations: [
      {
        expression: "variables.size < 2 || variables.data.a == 'ok'",
        messageExpression: "'size ' + string(variables.size)",
      },
      { expression: "variables.size != 1 || variables.broken == 'x'" },
    ],
  });
  assert.equal((await create()).status, 201);
  assert.match((await create({ data: { a: 'b', c: 'd' } })).message, /denied request: size 2$/);
  assert.match(
    (await create({ data: { a: 'b' } })).message,
    /resulted in error: composited variable "broken" fails to evaluate: no such key: nothing$/,
  );
});

test('parameters: of a name, of a selector, of no namespace of their own, and what is done when there are none', async () => {
  const param = (name: string, max: string): Promise<void> =>
    make('/api/v1/namespaces/default/secrets', { metadata: { name, labels: { max, team: 'a' } } });
  await param('one', '1');
  await param('two', '2');
  const validations = [
    {
      expression: 'params == null || size(object.data) <= int(params.metadata.labels.max)',
      messageExpression: "params.metadata.name + ' allows ' + params.metadata.labels.max",
    },
  ];
  const paramKind = { apiVersion: 'v1', kind: 'Secret' };
  const twice = { data: { a: '1', b: '2' } };
  const bound = (paramRef?: JsonObject): Promise<void> =>
    policy({ paramKind, validations }, { binding: paramRef ? { paramRef } : {} });
  const clear = async (): Promise<void> => {
    for (const url of made.splice(2).reverse()) await ask('DELETE', url);
  };
  await bound({ name: 'one', parameterNotFoundAction: 'Deny' });
  assert.match((await create(twice)).message, /denied request: one allows 1$/);
  await clear();
  await bound({ name: 'two', namespace: 'default', parameterNotFoundAction: 'Deny' });
  assert.equal((await create(twice)).status, 201);
  await clear();
  await bound({ selector: { matchLabels: { team: 'a' } }, parameterNotFoundAction: 'Deny' });
  assert.match((await create(twice)).message, /one allows 1$/);
  await clear();
  await bound({ name: 'none', parameterNotFoundAction: 'Allow' });
  assert.equal((await create(twice)).status, 201);
  await clear();
  await bound({ selector: { matchLabels: { team: 'b' } }, parameterNotFoundAction: 'Deny' });
  assert.match(
    (await create(twice)).message,
    /denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction$/,
  );
  await clear();
  await bound();
  assert.equal((await create(twice)).status, 201);
  await clear();
  await policy({ paramKind: { apiVersion: 'rules.example.com/v1', kind: 'Rule' }, validations });
  assert.match(
    (await create(twice)).message,
    /'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'rules.example.com\/v1, Kind=Rule'$/,
  );
});

test('parameters of a custom kind that is served after the policy was made', async () => {
  await policy(
    {
      paramKind: { apiVersion: 'rules.example.com/v1', kind: 'Limit' },
      failurePolicy: 'Ignore',
      validations: [{ expression: 'object.data.a != params.spec.forbidden' }],
    },
    { binding: { paramRef: { name: 'limit', parameterNotFoundAction: 'Allow' } } },
  );
  assert.equal((await create({ data: { a: 'b' } })).status, 201);
  await make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'limits.rules.example.com' },
    spec: {
      group: 'rules.example.com',
      scope: 'Cluster',
      names: { plural: 'limits', kind: 'Limit' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  await make('/apis/rules.example.com/v1/limits', {
    apiVersion: 'rules.example.com/v1',
    kind: 'Limit',
    metadata: { name: 'limit' },
    spec: { forbidden: 'b' },
  });
  assert.equal((await create({ data: { a: 'b' } })).status, 422);
  assert.equal((await create({ data: { a: 'c' } })).status, 201);
});

test('a parameter is read in the version of each policy, and stays as it is for others', async () => {
  const served = (name: string, properties: JsonObject): JsonObject => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: {
      openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
    },
  });
  await make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'allows.rules.example.com' },
    spec: {
      group: 'rules.example.com',
      scope: 'Namespaced',
      names: { plural: 'allows', kind: 'Allow' },
      versions: [
        served('v1', { denied: { type: 'array', items: { type: 'string' } } }),
        served('v2', { level: { type: 'string' } }),
      ],
    },
  });
  await make('/apis/rules.example.com/v1/namespaces/default/allows', {
    apiVersion: 'rules.example.com/v1',
    kind: 'Allow',
    metadata: { name: 'p', labels: { team: 'a' } },
    spec: { denied: ['bad'] },
  });
  const reading = (name: string, version: string, expression: string, paramRef: JsonObject) =>
    policy(
      {
        paramKind: { apiVersion: `rules.example.com/${version}`, kind: 'Allow' },
        validations: [{ expression, message: `said ${name}` }],
      },
      { binding: { paramRef: { ...paramRef, parameterNotFoundAction: 'Deny' } }, name },
    );
  const selector = { matchLabels: { team: 'a' } };
  const inV2 = `has(params.spec.denied) || params.apiVersion != 'rules.example.com/v2'`;
  await reading('a', 'v2', `!(${inV2})`, { selector });
  await reading('b', 'v1', '!(object.data.a in params.spec.denied)', { name: 'p' });
  for (const _ of [1, 2]) {
    assert.match((await create({ data: { a: 'bad' } })).message, /denied request: said b$/);
    assert.equal((await create({ data: { a: 'good' } })).status, 201);
  }
});

test('what a policy is for: selectors, excluded rules, names, conditions, and its binding', async () => {
  const denied = async (spec: JsonObject, binding: JsonObject, more: object = {}): Promise<boolean> => {
    const [rule] = everyConfigMap.resourceRules;
    const { constraints = {}, ...rest } = spec as { constraints?: JsonObject };
    await policy(
      {
        matchConstraints: { resourceRules: [rule!], ...constraints },
        validations: [{ expression: 'false' }],
        ...(rest as JsonObject),
      },
      { binding },
    );
    const { status } = await create(more);
    for (const url of made.splice(0).reverse()) await ask('DELETE', url);
    return status === 422;
  };
  const selector = { matchLabels: { 'kubernetes.io/metadata.name': 'default' } };
  const other = { matchLabels: { 'kubernetes.io/metadata.name': 'other' } };
  const [rule] = everyConfigMap.resourceRules;
  const match = (constraints: JsonObject): Promise<boolean> => denied({ constraints }, {});
  assert.equal(await match({ namespaceSelector: selector }), true);
  assert.equal(await match({ namespaceSelector: other }), false);
  assert.equal(await match({ objectSelector: { matchLabels: { a: 'b' } } }), false);
  assert.equal(await match({ excludeResourceRules: [rule!] }), false);
  assert.equal(await match({ resourceRules: [{ ...rule!, resourceNames: ['x'] }] }), false);
  assert.equal(await match({ resourceRules: [{ ...rule!, resourceNames: ['x', `c${count}`] }] }), true);
  assert.equal(await denied({}, { matchResources: { namespaceSelector: selector } }), true);
  assert.equal(await denied({}, { matchResources: { namespaceSelector: other } }), false);
  const when = (expression: string): JsonObject => ({ matchConditions: [{ name: 'c', expression }] });
  assert.equal(await denied(when("request.operation == 'CREATE'"), {}), true);
  assert.equal(await denied(when("request.operation == 'UPDATE'"), {}), false);
  assert.equal(await denied(when('object.nothing == 1'), {}), true);
  assert.equal(await denied({ ...when('object.nothing == 1'), failurePolicy: 'Ignore' }, {}), false);
});

test('an equivalent version of the resource is what the policy asked for', async () => {
  await policy({
    matchConstraints: {
      matchPolicy: 'Equivalent',
      resourceRules: [
        { operations: ['CREATE'], apiGroups: ['events.k8s.io'], apiVersions: ['v1'], resources: ['events'] },
      ],
    },
    validations: [
      {
        expression: "object.apiVersion != 'events.k8s.io/v1' || object.note != 'bad'",
        messageExpression: 'request.requestResource.group + request.resource.group',
      },
    ],
  });
  const answer = await ask('POST', '/api/v1/namespaces/default/events', {
    metadata: { name: 'e' },
    involvedObject: { namespace: 'default', kind: 'Pod', name: 'p' },
    message: 'bad',
  });
  assert.match(answer.message, /denied request: events.k8s.io$/);
});

test('namespaceObject, request and authorizer are told to expressions', async () => {
  await policy({
    validations: [
      {
        expression: "namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'",
      },
      {
        expression:
          "request.userInfo.username in ['kubernetes-admin', 'jane'] && request.namespace == 'default'",
      },
      {
        expression:
          "!has(object.data) || authorizer.group('').resource('configmaps').namespace('default').check('deletecollection').allowed()",
        message: 'may not delete them',
      },
      { expression: "!has(object.data) || authorizer.requestResource.check('custom').allowed()" },
    ],
  });
  await make('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'maps' },
    rules: [{ verbs: ['create'], apiGroups: [''], resources: ['configmaps'] }],
  });
  await make('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'maps' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'maps' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
  });
  const jane = user('jane');
  assert.equal((await create({}, jane)).status, 201);
  assert.equal((await create({ data: { a: 'b' } })).status, 201);
  assert.match((await create({ data: { a: 'b' } }, jane)).message, /may not delete them$/);
});

test('metrics count what policies decided', async () => {
  await policy({ validations: [{ expression: "object.data.a == 'yes'" }] }, { name: 'counted' });
  await create({ data: { a: 'yes' } });
  await create({ data: { a: 'no' } });
  await create();
  const { text } = await plane.metrics.text();
  const line =
    'apiserver_validating_admission_policy_check_total{policy="counted",policy_binding="counted-binding"';
  assert.deepEqual(
    text
      .split('\n')
      .filter((one) => one.startsWith(line))
      .sort(),
    [
      `${line},error_type="invalid_error",enforcement_action="deny"} 1`,
      `${line},error_type="no_error",enforcement_action="deny"} 1`,
    ],
  );
});

test('what can be said of an expression before it is stored is said then', async () => {
  const asked = async (spec: JsonObject): Promise<string> => {
    const answer = await ask('POST', `${registration}/validatingadmissionpolicies`, {
      metadata: { name: 'bad' },
      spec: { matchConstraints: everyConfigMap, ...spec },
    });
    assert.equal(answer.status, 422, answer.text);
    return answer.message.replace(/^.*? is invalid: /s, '');
  };
  assert.equal(
    await asked({ validations: [{ expression: 'object.x' }] }),
    'spec.validations[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn',
  );
  assert.match(
    await asked({ validations: [{ expression: '1 +' }] }),
    /^spec.validations\[0\].expression: Invalid value: "1 \+": compilation failed: ERROR: <input>:1:4: Syntax error/,
  );
  assert.match(
    await asked({ validations: [{ expression: 'params.a == 1' }] }),
    /undeclared reference to 'params'/,
  );
  assert.match(
    await asked({ validations: [{ expression: 'true', messageExpression: 'authorizer' }] }),
    /spec.validations\[0\].messageExpression: .*undeclared reference to 'authorizer'/,
  );
  assert.match(
    await asked({
      variables: [{ name: 'a', expression: 'variables.b' }],
      validations: [{ expression: 'true' }],
    }),
    /spec.variables\[0\].expression: .*undefined field 'b'/,
  );
  assert.equal(
    await asked({ auditAnnotations: [{ key: 'k', valueExpression: '1' }] }),
    'spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int',
  );
  assert.equal(
    await asked({ failurePolicy: 'Maybe', validations: [{ expression: '', message: 'a\nb' }] }),
    '[spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore", spec.validations[0].expression: Required value: expression is not specified, spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks]',
  );
  assert.equal(
    await asked({}),
    '[spec.validations: Required value: validations or auditAnnotations must contain at least one item, spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item]',
  );
});

test('who names parameters must be allowed to read them', async () => {
  const group = 'rbac.authorization.k8s.io';
  await make(`/apis/${group}/v1/clusterroles`, {
    metadata: { name: 'policies' },
    rules: [{ verbs: ['*'], apiGroups: ['admissionregistration.k8s.io'], resources: ['*'] }],
  });
  await make(`/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: 'policies' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'policies' },
    subjects: [{ apiGroup: group, kind: 'User', name: 'alice' }],
  });
  const alice = { user: user('alice', 'team') };
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'Secret' },
    matchConstraints: everyConfigMap,
    validations: [{ expression: 'params.data.a != object.data.a' }],
  };
  const body = { metadata: { name: 'p' }, spec };
  const url = `${registration}/validatingadmissionpolicies`;
  const refused = await ask('POST', url, body, alice);
  assert.deepEqual(
    [refused.status, refused.message],
    [
      422,
      'ValidatingAdmissionPolicy.admissionregistration.k8s.io "p" is invalid: spec.paramKind: Forbidden: user &{alice  [team system:authenticated] map[]} must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)',
    ],
  );
  await make(url, body);
  const bindings = `${registration}/validatingadmissionpolicybindings`;
  const binding = (paramRef: JsonObject) => ({
    metadata: { name: 'b' },
    spec: {
      policyName: 'p',
      validationActions: ['Deny'],
      paramRef: { parameterNotFoundAction: 'Deny', namespace: 'kube-system', ...paramRef },
    },
  });
  const named = await ask('POST', bindings, binding({ name: 'x' }), alice);
  assert.match(
    named.message,
    /spec.paramRef: Forbidden: user .* does not have "get" permission on the object/,
  );
  const selected = await ask('POST', bindings, binding({ selector: {} }), alice);
  assert.match(selected.message, /does not have "list" permission on the object referenced by paramRef$/);
});

async function statusOf(name: string): Promise<JsonObject> {
  for (;;) {
    const { body } = await ask('GET', `${registration}/validatingadmissionpolicies/${name}`);
    const { generation } = body['metadata'] as JsonObject;
    const status = (body['status'] ?? {}) as JsonObject;
    if (status['observedGeneration'] === generation) return status;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What is told of expressions for one kind, without what it quotes. */
async function toldOf(resource: string, expressions: readonly string[]): Promise<string[]> {
  const [plural = '', apiGroup = ''] = resource.split('/');
  const url = `${registration}/validatingadmissionpolicies`;
  const rule = { operations: ['*'], apiGroups: [apiGroup], apiVersions: ['v1'], resources: [plural] };
  const validations = expressions.map((expression) => ({ expression }));
  await make(url, {
    metadata: { name: plural },
    spec: { matchConstraints: { resourceRules: [rule] }, validations },
  });
  const told = (await statusOf(plural))['typeChecking'] as JsonObject;
  return ((told['expressionWarnings'] ?? []) as { warning: string }[]).map(({ warning }) =>
    warning.slice(warning.indexOf(': ') + 2, warning.indexOf('\n')),
  );
}

test('types are checked by what documents say of kinds: formats, objects without fields, what holds itself, what is of no type', async () => {
  const fields = {
    due: { type: 'string', format: 'date-time' },
    lasts: { type: 'string', format: 'duration' },
    key: { type: 'string', format: 'byte' },
    any: { 'x-kubernetes-preserve-unknown-fields': true },
    either: { 'x-kubernetes-int-or-string': true },
    pod: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
  };
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties: fields } } };
  await make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'gauges.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'gauges', kind: 'Gauge' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  });
  while ((await ask('GET', '/apis/example.com/v1/gauges')).status !== 200)
    await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    await toldOf('gauges/example.com', [
      "object.spec.due > timestamp('2020-01-01T00:00:00Z') && object.spec.lasts < duration('1s')",
      "object.spec.due == 'x'",
      "object.spec.key == 'x'",
      'object.spec.any == 1',
      "object.spec.either == 1 || object.spec.either == 'a'",
      "object.spec.pod.metadata.labels['a'] == 1",
      'object.spec.pod.spec == 1',
    ]),
    [
      "ERROR: <input>:1:17: found no matching overload for '_==_' applied to '(timestamp, string)'",
      "ERROR: <input>:1:17: found no matching overload for '_==_' applied to '(bytes, string)'",
      "ERROR: <input>:1:12: undefined field 'any'",
      "ERROR: <input>:1:38: found no matching overload for '_==_' applied to '(string, int)'",
      "ERROR: <input>:1:16: undefined field 'spec'",
    ],
  );
  assert.deepEqual(await toldOf('controllerrevisions/apps', ['object.data.a == 1', 'object.data == 1']), [
    "ERROR: <input>:1:12: undefined field 'a'",
    "ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(ControllerRevision.data, int)'",
  ]);
  const schema = 'object.spec.versions[0].schema.openAPIV3Schema';
  assert.deepEqual(
    await toldOf('customresourcedefinitions/apiextensions.k8s.io', [
      `has(${schema}.not)`,
      `has(${schema}.not.type)`,
      `${schema}.default == 1`,
    ]),
    ["ERROR: <input>:1:4: undefined field 'type'", "ERROR: <input>:1:47: undefined field 'default'"],
  );
  assert.deepEqual(await toldOf('deployments/apps', ["authorizer.requestResource.check('get').allowed()"]), [
    "ERROR: <input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'",
  ]);
});

test("a request's kinds and resources are of one type each, and its options may be anything", async () => {
  await policy({
    validations: [
      { expression: 'request.kind == request.requestKind && request.resource == request.requestResource' },
      { expression: "request.options.kind == 'CreateOptions' && !has(request.options.nothing)" },
      {
        expression: "dyn(request).object == null && dyn(request).oldObject == null && dyn(request).uid == ''",
      },
      { expression: "request.options.fieldManager == 'me'" },
    ],
  });
  const made = await ask('POST', `${configMaps}?fieldManager=me`, { metadata: { name: 'mine' } });
  assert.equal(made.status, 201, made.text);
  await ask('DELETE', `${configMaps}/mine`);
  const refused = await create();
  assert.match(refused.message, /resulted in error: no such key: fieldManager$/);
  const wrong = await ask('POST', `${registration}/validatingadmissionpolicies`, {
    metadata: { name: 'wrong' },
    spec: { matchConstraints: everyConfigMap, validations: [{ expression: 'request.kind == 1' }] },
  });
  assert.match(wrong.message, /applied to '\(kubernetes\.GroupVersionKind, int\)'/);
});

test('a message that takes too much refuses also where its validation holds', async () => {
  const long = { name: 'long', expression: `'${'a'.repeat(5000)}'` };
  const dear = {
    expression: 'true',
    messageExpression: 'string(variables.long.matches(variables.long))',
  };
  await policy({ variables: [long], validations: Array.from({ length: 20 }, () => dear) });
  const answer = await create();
  assert.match(
    answer.message,
    /denied request: failed messageExpression: validation failed due to running out of cost budget, no further validation rules will be run$/,
  );
});

test('what an expression gets wrong of the kinds that it is for is told in the status', async () => {
  const url = `${registration}/validatingadmissionpolicies`;
  const deployments = {
    resourceRules: [
      {
        operations: ['*'],
        apiGroups: ['apps'],
        apiVersions: ['v1'],
        resources: ['deployments', 'replicasets'],
      },
    ],
  };
  await make(url, {
    metadata: { name: 'typed' },
    spec: {
      matchConstraints: deployments,
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      variables: [{ name: 'count', expression: 'object.spec.replicas' }],
      validations: [
        { expression: "object.spec.replicas > '1'" },
        { expression: 'object.spec.strategy.type != ""', messageExpression: 'params.nothing' + ' + "x"' },
        { expression: 'variables.count > 1 && object.spec.template.spec.containers.all(c, c.image != "")' },
        {
          expression:
            "has(object.metadata.labels) && quantity(object.spec.template.spec.containers[0].resources.limits['cpu']).isGreaterThan(quantity('1'))",
        },
      ],
    },
  });
  const mistyped = (kind: string): string =>
    `apps/v1, Kind=${kind}: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n`;
  const warnings = ((await statusOf('typed'))['typeChecking'] as JsonObject)['expressionWarnings'];
  const [first, second, third, ...more] = warnings as { fieldRef: string; warning: string }[];
  assert.deepEqual(first, {
    fieldRef: 'spec.validations[0].expression',
    warning: `${mistyped('Deployment')}\n${mistyped('ReplicaSet')}`,
  });
  assert.equal(second!.fieldRef, 'spec.validations[1].expression');
  assert.match(
    second!.warning,
    /^apps\/v1, Kind=ReplicaSet: ERROR: <input>:1:12: undefined field 'strategy'/,
  );
  assert.equal(third!.fieldRef, 'spec.validations[1].messageExpression');
  assert.match(third!.warning, /undefined field 'nothing'/);
  assert.deepEqual(more, []);
  await ask('PATCH', `${url}/typed`, { spec: { validations: [{ expression: 'object.spec.replicas > 1' }] } });
  assert.deepEqual(await statusOf('typed'), { observedGeneration: 2, typeChecking: {} });
  await make(url, {
    metadata: { name: 'any' },
    spec: {
      matchConstraints: {
        resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
      },
      validations: [{ expression: 'object.whatever == 1' }],
    },
  });
  assert.deepEqual(await statusOf('any'), { observedGeneration: 1, typeChecking: {} });
});
