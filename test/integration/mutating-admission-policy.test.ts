// MutatingAdmissionPolicy against a real control plane: what upstream's end-to-end tests expect of it, and more.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { meta, obj, objs, spec as specOf } from '../../src/apimachinery/json-access.ts';
import { type Answer, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { answerConversions, conversionAsked } from '../harness/conversion-webhook.ts';
import { eventually } from '../harness/eventually.ts';
import { patchOf, startWebhookServer } from '../harness/webhook-server.ts';

const plane = await startTestControlPlane();
const server = await startWebhookServer();
after(async () => {
  await plane.close();
  await server.close();
});
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
async function make(url: string, body: JsonObject & { metadata: { name: string } }): Promise<void> {
  const answer = await ask('POST', url, body);
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual(
    answer.warnings.filter((text) => text.includes('not enforced')),
    [],
  );
  made.push(`${url}/${body.metadata.name}`);
}
const applied = (expression: string): JsonObject => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});
const patch = (expression: string): JsonObject => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

async function policy(mutations: JsonObject[], more: JsonObject = {}, name = 'm'): Promise<void> {
  const { binding, ...spec } = more;
  await make(`${registration}/mutatingadmissionpolicies`, {
    metadata: { name },
    spec: { matchConstraints: everyConfigMap, reinvocationPolicy: 'Never', mutations, ...spec },
  });
  await make(`${registration}/mutatingadmissionpolicybindings`, {
    metadata: { name: `${name}-binding` },
    spec: { policyName: name, ...obj(binding) },
  });
}

let count = 0;
async function create(more: object = {}): Promise<Answer> {
  const name = `c${count++}`;
  const answer = await ask('POST', configMaps, { metadata: { name }, ...more });
  if (answer.status === 201) made.push(`${configMaps}/${name}`);
  return answer;
}
const labels = (answer: Answer): unknown => meta(answer.body as JsonObject)['labels'];
const data = (answer: Answer): unknown => answer.body['data'];

test('an apply configuration is merged into the object, and what is stored has it', async () => {
  await policy([
    applied(
      'Object{metadata: Object.metadata{labels: {"team": request.userInfo.username}}, data: {"b": "2"}}',
    ),
  ]);
  const answer = await create({ data: { a: '1' } });
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual([labels(answer), data(answer)], [{ team: 'kubernetes-admin' }, { a: '1', b: '2' }]);
  const stored = await ask('GET', `${configMaps}/c${count - 1}`);
  assert.deepEqual(data(stored), { a: '1', b: '2' });
});

test('lists merge by their keys; new elements are defaulted as the kind has it', async () => {
  await policy(
    [
      applied(`Object{spec: Object.spec{
        initContainers: [Object.spec.initContainers{name: "mesh", image: "mesh:1", restartPolicy: "Always"}],
        containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: "A", value: "b"}]})}}`),
    ],
    {
      matchConstraints: {
        resourceRules: [
          { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] },
        ],
      },
      matchConditions: [
        {
          name: 'once',
          expression:
            '!has(object.spec.initContainers) || !object.spec.initContainers.exists(c, c.name == "mesh")',
        },
      ],
    },
  );
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const answer = await ask('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'a', image: 'a:1', env: [{ name: 'X', value: 'y' }] }] },
  });
  assert.equal(answer.status, 201, answer.text);
  made.push('/api/v1/namespaces/default/pods/p');
  const spec = specOf(answer.body as JsonObject);
  const [mesh] = objs(spec['initContainers']);
  assert.deepEqual(
    [mesh!['name'], mesh!['imagePullPolicy'], mesh!['restartPolicy']],
    ['mesh', 'IfNotPresent', 'Always'],
  );
  assert.deepEqual(
    objs(spec['containers']).map(({ name, env }) => [name, objs(env).map((one) => one['name'])]),
    [['a', ['X', 'A']]],
  );
});

test('a JSON patch adds, tests, escapes keys and builds objects; a test that fails leaves all as it is', async () => {
  await policy([
    patch(
      '[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "replace", path: "/data/a", value: "2"}]',
    ),
    patch(
      '(has(object.metadata.labels) ? [] : [JSONPatch{op: "add", path: "/metadata/labels", value: {}}]) + [JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/x"), value: "y"}]',
    ),
    patch('[JSONPatch{op: "copy", from: "/data/a", path: "/data/c"}]'),
  ]);
  const first = await create({ data: { a: '1' } });
  assert.equal(first.status, 201, first.text);
  assert.deepEqual([data(first), labels(first)], [{ a: '2', c: '2' }, { 'example.com/x': 'y' }]);
  const second = await create({ data: { a: '3' }, metadata: { name: 'kept', labels: { z: 'z' } } });
  made.push(`${configMaps}/kept`);
  assert.deepEqual(
    [data(second), labels(second)],
    [
      { a: '3', c: '3' },
      { z: 'z', 'example.com/x': 'y' },
    ],
  );
});

test('a JSON patch that does not apply is refused with the operation and the path', async () => {
  await policy([patch('[JSONPatch{op: "remove", path: "/data/nothing"}]')]);
  assert.match(
    (await create({ data: { a: '1' } })).message,
    / denied request: JSON Patch: error in remove for path: '\/data\/nothing': Unable to remove nonexistent key: nothing: missing value$/,
  );
});

test('variables, parameters and the namespace are told; failures are refusals as failurePolicy says', async () => {
  await make('/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'params' },
    data: { team: 'blue' },
  });
  const more = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    variables: [{ name: 'team', expression: 'params.data.team + "-" + namespaceObject.metadata.name' }],
    binding: { paramRef: { name: 'params', parameterNotFoundAction: 'Deny' } },
  };
  await policy([applied('Object{data: {"team": variables.team}}')], more);
  assert.deepEqual(data(await create()), { team: 'blue-default' });
  await policy([applied('Object{data: {"x": object.nothing.at.all}}')], {}, 'broken');
  const refused = await create();
  const why = `policy 'broken' with binding 'broken-binding' denied request: expression 'Object{data: {"x": object.nothing.at.all}}' resulted in error: no such key: nothing`;
  assert.deepEqual(
    [refused.status, refused.body['reason'], refused.message, refused.body['details']],
    [403, 'Invalid', why, { name: `c${count - 1}`, kind: 'configmaps', causes: [{ message: why }] }],
  );
  await ask('PATCH', `${registration}/mutatingadmissionpolicies/broken`, {
    spec: { failurePolicy: 'Ignore' },
  });
  assert.equal((await create()).status, 201);
});

test('what can not be merged is refused: unknown fields, atomic lists, names of types at the wrong place', async () => {
  const told = async (expression: string, resource = 'configmaps'): Promise<string> => {
    await policy([applied(expression)], {
      matchConstraints: {
        resourceRules: [
          { operations: ['CREATE'], apiGroups: ['', 'apps'], apiVersions: ['v1'], resources: [resource] },
        ],
      },
    });
    const answer =
      resource === 'configmaps'
        ? await create()
        : await ask('POST', '/apis/apps/v1/namespaces/default/deployments', {
            metadata: { name: 'd' },
            spec: {
              selector: { matchLabels: { a: 'b' } },
              template: {
                metadata: { labels: { a: 'b' } },
                spec: { containers: [{ name: 'c', image: 'i' }] },
              },
            },
          });
    for (const url of made.splice(0).reverse()) await ask('DELETE', url);
    return answer.message.replace(/^.*?denied request: /, '');
  };
  assert.equal(
    await told('Object{nothing: "x"}'),
    'error applying patch: failed to convert patch object to typed object: .nothing: field not declared in schema',
  );
  assert.equal(
    await told(
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "c", args: ["x"]}]}}}}',
      'deployments',
    ),
    'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].args',
  );
  assert.equal(
    await told('Object{metadata: Object.spec{labels: {"a": "b"}}}'),
    'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root Object type',
  );
});

test('policies go before webhooks, and those that want it are asked again after others changed the object', async () => {
  const add = (key: string, value: string): JsonObject =>
    applied(`Object{metadata: Object.metadata{annotations: {"${key}": ${value}}}}`);
  const seen = 'has(object.metadata.labels) && "hook" in object.metadata.labels ? "late" : "early"';
  await policy([add('never', seen)], {}, 'never');
  await policy([add('again', seen)], { reinvocationPolicy: 'IfNeeded' }, 'again');
  await make(`${registration}/mutatingwebhookconfigurations`, {
    metadata: { name: 'hook' },
    webhooks: [
      {
        name: 'hook.example.com',
        clientConfig: { url: `${server.url}/hook`, caBundle: server.caBundle },
        rules: everyConfigMap.resourceRules,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  server.answers.set('/hook', () => ({
    allowed: true,
    ...patchOf({ op: 'add', path: '/metadata/labels', value: { hook: 'yes' } }),
  }));
  const answer = await create();
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual(meta(answer.body as JsonObject)['annotations'], { again: 'late', never: 'early' });
  const [asked] = server.asked;
  assert.deepEqual(meta(asked!.request.object as never)['annotations'], { again: 'early', never: 'early' });
});

test('custom resources, subresources and updates are mutated in the version that the policy asks for', async () => {
  await make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  properties: {
                    size: { type: 'integer' },
                    names: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
                  },
                },
              },
            },
          },
        },
      ],
    },
  });
  const unknown = patch('[JSONPatch{op: "add", path: "/spec/unknown", value: "x"}]');
  await policy([applied('Object{spec: Object.spec{size: 3, names: ["b"]}}'), unknown], {
    matchConstraints: {
      resourceRules: [
        { operations: ['*'], apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['widgets'] },
      ],
    },
  });
  const url = '/apis/example.com/v1/namespaces/default/widgets';
  const answer = await ask('POST', url, {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w' },
    spec: { names: ['a'] },
  });
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual(answer.body['spec'], { size: 3, names: ['a', 'b'] });
  const updated = await ask('PATCH', `${url}/w`, { spec: { size: 5 } });
  assert.deepEqual(updated.body['spec'], { size: 3, names: ['a', 'b'] });
});

/** Stored as v2; of v1 another server tells. */
async function define(plural: string, kind: string): Promise<string> {
  const properties = { spec: { type: 'object', additionalProperties: { type: 'string' } } };
  const version = (name: string, storage: boolean): JsonObject => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object', properties } },
  });
  await make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [version('v1', false), version('v2', true)],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: `${server.url}/convert`, caBundle: server.caBundle },
          conversionReviewVersions: ['v1'],
        },
      },
    },
  });
  const url = `/apis/example.com/v2/namespaces/default/${plural}`;
  await eventually(async () => assert.equal((await ask('GET', url)).status, 200), { everyMs: 5 });
  return url;
}
const gearsAsV1 = {
  matchConstraints: {
    resourceRules: [
      { operations: ['*'], apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['gears', 'cogs'] },
    ],
  },
};
const conversible = (kind: string, name: string): JsonObject => ({
  apiVersion: 'example.com/v2',
  kind,
  metadata: { name },
  spec: { size: 's' },
});
const conversions = (): string[] =>
  server.asked
    .splice(0)
    .filter((asked) => asked.path.startsWith('/convert'))
    .map((asked) => conversionAsked(asked).desiredAPIVersion);

test('an object is converted once for all mutations that see it in another version, and once for what they made', async () => {
  answerConversions(server, '/convert', (object, apiVersion) => ({ ...object, apiVersion }));
  const url = await define('gears', 'Gear');
  const add = (name: string): JsonObject =>
    applied(`Object{spec: {"${name}": object.apiVersion + object.spec.size}}`);
  await policy(
    [add('a'), add('b'), applied('Object{spec: {"c": object.spec.a + object.spec.b}}')],
    gearsAsV1,
  );
  await policy(
    [add('d')],
    { ...gearsAsV1, matchConditions: [{ name: 'all', expression: 'has(object.spec.c)' }] },
    'n',
  );
  server.asked.splice(0);
  const answer = await ask('POST', url, conversible('Gear', 'g'));
  assert.equal(answer.status, 201, answer.text);
  made.push(`${url}/g`);
  const seen = 'example.com/v1s';
  assert.deepEqual(answer.body['spec'], { size: 's', a: seen, b: seen, c: seen + seen, d: seen });
  // The last is of the second round, for those who would be asked again.
  assert.deepEqual(conversions(), ['example.com/v1', 'example.com/v2', 'example.com/v1']);
});

test('who can not be shown the object is asked nothing: failurePolicy says what becomes of the request', async () => {
  server.answers.set('/convert', (asked) => (to) => {
    to.setHeader('content-type', 'application/json');
    const result = { status: 'Failure', message: 'out of gears' };
    const response = { uid: conversionAsked(asked).uid, result };
    to.end(JSON.stringify({ kind: 'ConversionReview', apiVersion: asked.apiVersion, response }));
  });
  const url = await define('cogs', 'Cog');
  const mutation = applied('Object{spec: {"a": "b"}}');
  await policy([mutation], { ...gearsAsV1, failurePolicy: 'Ignore' });
  const ignored = await ask('POST', url, conversible('Cog', 'g'));
  assert.equal(ignored.status, 201, ignored.text);
  made.push(`${url}/g`);
  assert.deepEqual(ignored.body['spec'], { size: 's' });
  await policy([mutation], gearsAsV1, 'n');
  const refused = await ask('POST', url, conversible('Cog', 'h'));
  assert.equal(refused.status, 403, refused.text);
  assert.match(
    String(refused.body['message']),
    /policy "n" denied request: failed to configure policy: .*out of gears/,
  );
});

test('what a policy makes is validated as what a user sends, and counted', async () => {
  await policy(
    [patch('[JSONPatch{op: "add", path: "/metadata/labels", value: {"not a key": "x"}}]')],
    {},
    'wrong',
  );
  const invalid = await create();
  assert.equal(invalid.status, 422);
  assert.match(invalid.message, /metadata.labels: Invalid value: "not a key"/);
  await policy([patch('[JSONPatch{op: "add", path: "/unknown", value: "x"}]')], {}, 'unknown');
  const unknown = await create();
  assert.deepEqual(
    [unknown.status, unknown.message],
    [500, 'Internal error occurred: strict decoding error: unknown field "unknown"'],
  );
  const { text } = await plane.metrics.text();
  const line =
    'apiserver_mutating_admission_policy_check_total{policy="wrong",policy_binding="wrong-binding",error_type="no_error"} 1';
  assert.ok(text.includes(line));
});

test('what can be said of a mutation before it is stored is said then', async () => {
  const asked = async (spec: JsonObject): Promise<string> => {
    const answer = await ask('POST', `${registration}/mutatingadmissionpolicies`, {
      metadata: { name: 'bad' },
      spec: { matchConstraints: everyConfigMap, reinvocationPolicy: 'Never', ...spec },
    });
    assert.equal(answer.status, 422, answer.text);
    return answer.message.replace(/^.*? is invalid: /s, '');
  };
  assert.equal(await asked({}), 'spec.mutations: Required value: mutations must contain at least one item');
  assert.equal(
    await asked({ mutations: [applied('{"a": "b"}')] }),
    'spec.mutations[0].applyConfiguration.expression: Invalid value: "{\\"a\\": \\"b\\"}": must evaluate to Object but got map(string, string)',
  );
  assert.equal(
    await asked({ mutations: [patch('[1]')] }),
    'spec.mutations[0].jsonPatch.expression: Invalid value: "[1]": must evaluate to list(JSONPatch) but got list(int)',
  );
  assert.equal(
    await asked({ mutations: [{ ...applied('Object{}'), jsonPatch: { expression: '[]' } }] }),
    'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
  );
  assert.equal(
    await asked({
      mutations: [applied('Object{}')],
      reinvocationPolicy: 'Maybe',
      matchConstraints: { resourceRules: [{ ...everyConfigMap.resourceRules[0]!, operations: ['DELETE'] }] },
    }),
    '[spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE", spec.reinvocationPolicy: Unsupported value: "Maybe": supported values: "IfNeeded", "Never"]',
  );
});
