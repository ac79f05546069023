// Admission of custom resources that a conversion webhook tells in another version: webhooks, policies and their parameters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerConversions, conversionAnswer } from '../harness/conversion-webhook.ts';
import { patchOf } from '../harness/webhook-server.ts';
import {
  converted,
  group,
  path,
  schemaOf,
  startConversionPlane,
  text,
  versions,
} from './conversion-plane.ts';

const { define, plane, server } = await startConversionPlane();
const { ask } = plane;
const merge = { contentType: 'application/merge-patch+json' };

test('admission webhooks see an equivalent version as the conversion webhook tells it, and scale as it is', async () => {
  await define('judged', 'Judged');
  const registration = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
  const rule = {
    operations: ['*'],
    apiGroups: [group],
    apiVersions: ['v1'],
    resources: ['judged', 'judged/scale'],
  };
  const made = await ask('POST', registration, {
    metadata: { name: 'judge' },
    webhooks: [
      {
        name: 'judge.example.com',
        clientConfig: { url: `${server.url}/judge`, caBundle: server.caBundle },
        rules: [rule],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  assert.equal(made.status, 201, made.text);
  const patches = {
    Judged: { op: 'replace', path: '/hostPort', value: 'judged:7' },
    Scale: { op: 'replace', path: '/spec/replicas', value: 4 },
  };
  const seen: unknown[] = [];
  server.answers.set('/judge', ({ request }) => {
    const { kind, apiVersion } = request.object as unknown as {
      kind: keyof typeof patches;
      apiVersion: string;
    };
    seen.push([kind, apiVersion, (request['requestResource'] as { version: string }).version]);
    return { allowed: true, ...patchOf(patches[kind]) };
  });
  const created = await ask('POST', path('judged', 'v2'), {
    metadata: { name: 'a' },
    host: 'x',
    port: '1',
    spec: { replicas: 1 },
  });
  assert.deepEqual(
    [created.status, created.body['host'], created.body['port']],
    [201, 'judged', '7'],
    created.text,
  );
  const scaled = await ask('PATCH', `${path('judged', 'v2')}/a/scale`, { spec: { replicas: 2 } }, merge);
  assert.deepEqual([scaled.status, scaled.body['spec']], [200, { replicas: 4 }], scaled.text);
  assert.deepEqual(seen, [
    ['Judged', `${group}/v1`, 'v2'],
    ['Scale', 'autoscaling/v1', 'v2'],
  ]);
  assert.equal((await ask('DELETE', `${registration}/judge`)).status, 200);
});

test('what a webhook changed in another version is stored with the defaults of its own', async () => {
  const tier = { ...text, default: 'basic' };
  const [v1, v2] = versions as [object, object];
  await define('mended', 'Mended', {
    versions: [
      { ...v1, schema: schemaOf({ hostPort: text, tier }) },
      { ...v2, schema: schemaOf({ host: text, port: text }) },
    ],
  });
  answerConversions(server, '/convert', ({ tier: _, ...object }, apiVersion) =>
    converted(object, apiVersion),
  );
  const registration = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
  const made = await ask('POST', registration, {
    metadata: { name: 'see' },
    webhooks: [
      {
        name: 'see.example.com',
        clientConfig: { url: `${server.url}/see`, caBundle: server.caBundle },
        rules: [{ operations: ['*'], apiGroups: [group], apiVersions: ['v2'], resources: ['mended'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  assert.equal(made.status, 201, made.text);
  server.answers.set('/see', () => ({
    allowed: true,
    ...patchOf({ op: 'replace', path: '/port', value: '7' }),
  }));
  const created = await ask('POST', path('mended', 'v1'), { metadata: { name: 'a' }, hostPort: 'x:1' });
  const told = ({ body }: typeof created): unknown[] => [body['hostPort'], body['tier']];
  assert.deepEqual([created.status, ...told(created)], [201, 'x:7', 'basic'], created.text);
  const found = await ask('GET', `${path('mended', 'v1')}/a`);
  assert.deepEqual(told(found), ['x:7', 'basic']);
  const dry = { ...found.body, hostPort: 'y:1', tier: 'gold' };
  const answered = await ask('PUT', `${path('mended', 'v1')}/a?dryRun=All`, dry);
  assert.deepEqual(told(answered), ['y:7', 'basic'], answered.text);
  const put = await ask('PUT', `${path('mended', 'v1')}/a`, { ...found.body, tier: 'gold' });
  assert.deepEqual([put.status, ...told(put)], [200, 'x:7', 'basic'], put.text);
  assert.equal((await ask('DELETE', `${registration}/see`)).status, 200);
});

for (const strategy of ['None', 'Webhook'])
  test(`what only the request's version knows lives through webhooks and policies that see another: ${strategy}`, async () => {
    const plural = `kept${strategy.toLowerCase()}`;
    const only = strategy === 'None' ? { conversion: { strategy } } : {};
    await define(plural, `Kept${strategy}`, {
      ...only,
      versions: [
        { name: 'v1', served: true, storage: false, schema: schemaOf({ hostPort: text, byHook: text }) },
        { name: 'v2', served: true, storage: true, schema: schemaOf({ zone: text, byPolicy: text }) },
      ],
    });
    answerConversions(server, '/convert', (object, apiVersion) => ({ ...object, apiVersion }));
    const at = '/apis/admissionregistration.k8s.io/v1';
    const rule = { operations: ['*'], apiGroups: [group], apiVersions: ['v1'], resources: [plural] };
    const clientConfig = { url: `${server.url}/keep`, caBundle: server.caBundle };
    const hook = { name: 'keep.example.com', clientConfig, rules: [rule] };
    const webhooks = [{ ...hook, sideEffects: 'None', admissionReviewVersions: ['v1'] }];
    const expression =
      '[JSONPatch{op: "add", path: "/metadata/labels", value: {"saw": object.zone}}, JSONPatch{op: "add", path: "/byPolicy", value: "p"}]';
    const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression } }];
    const policySpec = {
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [rule] },
      mutations,
    };
    const made = [
      await ask('POST', `${at}/mutatingwebhookconfigurations`, { metadata: { name: plural }, webhooks }),
      await ask('POST', `${at}/mutatingadmissionpolicies`, { metadata: { name: plural }, spec: policySpec }),
      await ask('POST', `${at}/mutatingadmissionpolicybindings`, {
        metadata: { name: plural },
        spec: { policyName: plural },
      }),
    ];
    for (const { status, text } of made) assert.equal(status, 201, text);
    let seen: unknown;
    server.answers.set('/keep', ({ request }) => {
      seen = (request.object as Record<string, unknown> | null)?.['zone'];
      return { allowed: true, ...patchOf({ op: 'add', path: '/byHook', value: 'h' }) };
    });
    const created = await ask('POST', path(plural, 'v2'), { metadata: { name: 'a' }, zone: 'z' });
    assert.equal(created.status, 201, created.text);
    for (const { body } of [created, await ask('GET', `${path(plural, 'v2')}/a`)]) {
      const { zone, byPolicy, byHook, hostPort } = body;
      assert.deepEqual([zone, byPolicy, byHook, hostPort], ['z', 'p', undefined, undefined]);
      assert.deepEqual((body['metadata'] as { labels?: unknown }).labels, { saw: 'z' });
    }
    assert.equal(seen, 'z');
    const changed = await ask('PATCH', `${path(plural, 'v2')}/a`, { spec: { replicas: 1 } }, merge);
    assert.deepEqual([changed.status, changed.body['zone']], [200, 'z'], changed.text);
    for (const kind of ['webhookconfigurations', 'admissionpolicybindings', 'admissionpolicies'])
      assert.equal((await ask('DELETE', `${at}/mutating${kind}/${plural}`)).status, 200);
  });

test('parameters of policies come in the version that they ask for, or failurePolicy decides', async () => {
  await define('limits', 'Limit');
  for (const [name, hostPort] of Object.entries({ a: 'one:80', b: 'two:81' }))
    await ask('POST', path('limits', 'v1'), { metadata: { name }, hostPort });
  const registration = '/apis/admissionregistration.k8s.io/v1';
  const policies = `${registration}/validatingadmissionpolicies`;
  const bindings = `${registration}/validatingadmissionpolicybindings`;
  await ask('POST', policies, {
    metadata: { name: 'hosts' },
    spec: {
      paramKind: { apiVersion: `${group}/v2`, kind: 'Limit' },
      matchConstraints: {
        resourceRules: [
          { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
        ],
      },
      validations: [{ expression: 'object.data.host != params.host && !has(params.tier)' }],
    },
  });
  const bind = (paramRef: object): ReturnType<typeof ask> =>
    ask('POST', bindings, {
      metadata: { name: 'hosts' },
      spec: {
        policyName: 'hosts',
        validationActions: ['Deny'],
        paramRef: { ...paramRef, parameterNotFoundAction: 'Deny' },
      },
    });
  const statusOf = async (host: string) => {
    const body = { metadata: { generateName: 'c' }, data: { host } };
    return ask('POST', '/api/v1/namespaces/default/configmaps', body);
  };
  for (const [ref, refused] of [
    [{ name: 'a' }, ['one']],
    // Only in v2 is there such a label.
    [{ selector: { matchLabels: { told: 'yes' } } }, ['one', 'two']],
  ] as const) {
    answerConversions(server, '/convert', (object, apiVersion) => {
      const made = converted(object, apiVersion);
      return { ...made, metadata: { ...(made['metadata'] as object), labels: { told: 'yes' } } };
    });
    assert.equal((await bind(ref)).status, 201);
    for (const host of ['one', 'two', 'three'])
      assert.equal((await statusOf(host)).status, (refused as readonly string[]).includes(host) ? 422 : 201);
    await ask('DELETE', `${bindings}/hosts`);
  }
  await ask('POST', path('limits', 'v1'), { metadata: { name: 'new' }, hostPort: 'x:1' });
  server.answers.set('/convert', ({ apiVersion, request }) =>
    conversionAnswer(apiVersion, {
      uid: (request as { uid: string }).uid,
      result: { status: 'Failed', message: 'cannot tell' },
    }),
  );
  await bind({ name: 'new' });
  const refused = await statusOf('three');
  assert.equal(refused.status, 422, refused.text);
  assert.match(
    refused.message,
    /'hosts' with binding 'hosts' denied request: failed to configure binding: conversion webhook for conv.example.com\/v1, Kind=Limit failed: cannot tell$/,
  );
  await ask('PATCH', `${policies}/hosts`, { spec: { failurePolicy: 'Ignore' } }, merge);
  assert.equal((await statusOf('three')).status, 201);
  await ask('DELETE', `${bindings}/hosts`);
  await ask('DELETE', `${policies}/hosts`);
});

test('a webhook that answers nonsense about another version stores none of it', async () => {
  const within = { type: 'object', 'x-kubernetes-embedded-resource': true };
  const preserved = { ...within, 'x-kubernetes-preserve-unknown-fields': true };
  const schema = schemaOf({ zone: text, within: preserved });
  await define('nonsense', 'Nonsense', {
    conversion: { strategy: 'None' },
    versions: [
      { name: 'v1', served: true, storage: false, schema },
      { name: 'v2', served: true, storage: true, schema },
    ],
  });
  const registration = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
  const rule = { operations: ['*'], apiGroups: [group], apiVersions: ['v1'], resources: ['nonsense'] };
  const clientConfig = { url: `${server.url}/nonsense`, caBundle: server.caBundle };
  const hook = { name: 'nonsense.example.com', clientConfig, rules: [rule], sideEffects: 'None' };
  const made = await ask('POST', registration, {
    metadata: { name: 'nonsense' },
    webhooks: [{ ...hook, admissionReviewVersions: ['v1'] }],
  });
  assert.equal(made.status, 201, made.text);
  const resource = { apiVersion: 'v1', kind: 'X' };
  const rows: readonly (readonly [string, unknown])[] = [
    ['/metadata', 'text'],
    ['/metadata', { name: 'a', labels: { a: 1 } }],
    ['/metadata', { name: 'a', namespace: 'kube-system' }],
    ['/kind', 'Other'],
    ['/apiVersion', `${group}/v2`],
    ['/zone', { deep: true }],
    ['/within', { ...resource, metadata: { name: 7 } }],
    ['/within', { ...resource, metadata: { labels: [] } }],
    ['/within', 'text'],
  ];
  for (const [at, value] of rows) {
    server.answers.set('/nonsense', () => ({ allowed: true, ...patchOf({ op: 'add', path: at, value }) }));
    const { status, text } = await ask('POST', path('nonsense', 'v2'), {
      metadata: { name: 'a' },
      zone: 'z',
    });
    assert.ok([400, 422, 500].includes(status), `${at} ${JSON.stringify(value)}: ${text}`);
  }
  assert.deepEqual((await ask('GET', path('nonsense', 'v2'))).body['items'], []);
  server.answers.set('/nonsense', () => ({
    allowed: true,
    ...patchOf({ op: 'add', path: '/__proto__', value: { a: 1 } }, { op: 'add', path: '/more', value: 1 }),
  }));
  const odd = await ask('POST', path('nonsense', 'v2'), { metadata: { name: 'a' }, zone: 'z' });
  if (odd.status === 201) assert.deepEqual([odd.body['zone'], odd.body['more']], ['z', undefined]);
  assert.equal(({} as Record<string, unknown>)['a'], undefined);
  assert.equal((await ask('DELETE', `${registration}/nonsense`)).status, 200);
});
