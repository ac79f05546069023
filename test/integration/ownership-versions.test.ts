// Ownership across the versions of a kind, through a real control plane: autoscalers, events, custom resources.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import {
  answerConversions,
  type Converted,
  conversionAnswer,
  conversionAsked,
} from '../harness/conversion-webhook.ts';
import { eventually } from '../harness/eventually.ts';
import { startWebhookServer } from '../harness/webhook-server.ts';

const plane = await startTestControlPlane();
const server = await startWebhookServer();
after(async () => {
  await plane.close();
  await server.close();
});
const { ask } = plane;
type Answer = Awaited<ReturnType<typeof ask>>;

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'own.example.com';
const merge = { contentType: 'application/merge-patch+json' };
const apply = (url: string, manager: string, body: object, more = ''): Promise<Answer> =>
  ask('PATCH', `${url}?fieldManager=${manager}${more}`, body, {
    contentType: 'application/apply-patch+yaml',
  });

interface Entry {
  readonly manager: string;
  readonly apiVersion: string;
  readonly operation: string;
  readonly fieldsV1: object;
}
const entriesOf = (answer: Answer): readonly Entry[] =>
  ((answer.body['metadata'] as { managedFields?: Entry[] }).managedFields ?? []) as Entry[];
const ownersOf = (answer: Answer): Record<string, object> =>
  Object.fromEntries(entriesOf(answer).map((e) => [`${e.manager} ${e.apiVersion}`, e.fieldsV1]));
const well = (answer: Answer): Answer => {
  assert.ok(answer.status === 200 || answer.status === 201, answer.text);
  return answer;
};

beforeEach(() => answerConversions(server, '/convert', converted));

test('an autoscaler is owned in v1 and in v2, and conflicts are told in the version of their manager', async () => {
  const path = (version: string): string =>
    `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers/web`;
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const one = (percent: number): object => ({
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web' },
    spec: { maxReplicas: 5, scaleTargetRef: target, targetCPUUtilizationPercentage: percent },
  });
  const two = (percent: number): object => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web' },
    spec: {
      maxReplicas: 5,
      scaleTargetRef: target,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: percent } },
        },
      ],
    },
  });
  well(await apply(path('v1'), 'a', one(50)));
  const refused = await apply(path('v2'), 'b', two(80));
  assert.equal(refused.status, 409, refused.text);
  assert.equal(
    refused.message,
    'Apply failed with 1 conflict: conflict with "a": .spec.targetCPUUtilizationPercentage',
  );
  const forced = well(await apply(path('v2'), 'b', two(80), '&force=true'));
  const { 'a autoscaling/v1': left, 'b autoscaling/v2': taken } = ownersOf(forced);
  assert.deepEqual(left, {
    'f:spec': { 'f:maxReplicas': {}, 'f:scaleTargetRef': {} },
  });
  assert.deepEqual(taken, {
    'f:spec': {
      'f:maxReplicas': {},
      'f:metrics': {},
      'f:scaleTargetRef': { 'f:apiVersion': {}, 'f:kind': {}, 'f:name': {} },
    },
  });
  const back = await apply(path('v1'), 'a', one(50));
  assert.equal(back.message, 'Apply failed with 1 conflict: conflict with "b": .spec.metrics');
  // Who moves to the newer version leaves out what he had in the older one.
  const bare = { ...two(80), spec: { maxReplicas: 5, scaleTargetRef: target } };
  well(await apply(path('v2'), 'b', bare));
  const moved = well(await apply(path('v2'), 'a', bare));
  assert.equal(
    (moved.body['spec'] as { metrics?: unknown }).metrics === undefined,
    false,
    'as kube-apiserver fills it in',
  );
});

test('an event is owned in the version of its group', async () => {
  const modern = '/apis/events.k8s.io/v1/namespaces/default/events';
  const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'p' };
  const event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'e' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'e.com/c',
    reportingInstance: 'c-1',
    action: 'Binding',
    reason: 'Scheduled',
    type: 'Normal',
    regarding,
    note: 'one',
  };
  well(await ask('POST', `${modern}?fieldManager=c`, event));
  const told = well(
    await ask('PATCH', '/api/v1/namespaces/default/events/e?fieldManager=p', { message: 'two' }, merge),
  );
  const owners = ownersOf(told);
  assert.deepEqual(owners['p v1'], { 'f:message': {} });
  assert.equal('f:note' in owners['c events.k8s.io/v1']!, false, JSON.stringify(owners));
  assert.equal('f:reason' in owners['c events.k8s.io/v1']!, true);
});

const text = { type: 'string' };
const schemaOf = (properties: object): object => ({
  openAPIV3Schema: {
    type: 'object',
    properties: {
      ...properties,
      map: { type: 'object', additionalProperties: text },
      spec: { type: 'object', properties: { replicas: { type: 'integer' }, size: { type: 'integer' } } },
    },
  },
});
const scaledBy = (specReplicasPath: string): object => ({
  scale: { specReplicasPath, statusReplicasPath: '.status.replicas' },
});
const version = (name: string, properties: object, more: object = {}): object => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: schemaOf(properties),
  ...more,
});
const path = (plural: string, name: string): string =>
  `/apis/${group}/${name}/namespaces/default/${plural}/x`;
const thing = (kind: string, name: string, more: object): object => ({
  apiVersion: `${group}/${name}`,
  kind,
  metadata: { name: 'x' },
  ...more,
});

const webhook = {
  strategy: 'Webhook',
  webhook: {
    clientConfig: { url: `${server.url}/convert`, caBundle: server.caBundle },
    conversionReviewVersions: ['v1'],
  },
};

async function define(
  plural: string,
  kind: string,
  versions: readonly object[],
  more: object = {},
): Promise<void> {
  const made = await ask('POST', crds, {
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names: { plural, kind }, versions, ...more },
  });
  assert.equal(made.status, 201, made.text);
  const list = path(plural, 'v2').replace(/\/x$/, '');
  await eventually(async () => assert.equal((await ask('GET', list)).status, 200), { everyMs: 5 });
}

async function redefine(plural: string, versions: readonly object[]): Promise<void> {
  const changed = await ask('PATCH', `${crds}/${plural}.${group}`, { spec: { versions } }, merge);
  assert.equal(changed.status, 200, changed.text);
}

/** v1 has `text`, v2 the same as `words`; the replicas of v1 are the size of v2. */
function converted(object: Converted, apiVersion: string): Converted {
  const { text: one, words, spec, ...rest } = object;
  const { replicas, size } = (spec ?? {}) as { replicas?: number; size?: number };
  const [value, count] = [one ?? words, replicas ?? size];
  const isOne = apiVersion.endsWith('/v1');
  return {
    ...rest,
    apiVersion,
    ...(value === undefined ? {} : { [isOne ? 'text' : 'words']: value }),
    ...(count === undefined ? {} : { spec: { [isOne ? 'replicas' : 'size']: count } }),
  };
}

test('where a webhook tells between versions, it tells who owns what', async () => {
  await define('hooks', 'Hook', [version('v1', { text }), version('v2', { words: text })], {
    conversion: webhook,
  });
  well(await apply(path('hooks', 'v2'), 'a', thing('Hook', 'v2', { words: 'x', map: { k: 'v' } })));
  const refused = await apply(path('hooks', 'v1'), 'b', thing('Hook', 'v1', { text: 'y' }));
  assert.equal(refused.message, 'Apply failed with 1 conflict: conflict with "a": .words', refused.text);
  const changed = well(await ask('PATCH', `${path('hooks', 'v1')}?fieldManager=u`, { text: 'z' }, merge));
  assert.deepEqual(ownersOf(changed), {
    [`a ${group}/v2`]: { 'f:map': { 'f:k': {} } },
    [`u ${group}/v1`]: { 'f:text': {} },
  });
  // Who applies less, and in another version, takes away what only he had.
  well(await apply(path('hooks', 'v2'), 'a', thing('Hook', 'v2', { words: 'z', map: { k: 'v' } })));
  const less = well(await apply(path('hooks', 'v1'), 'a', thing('Hook', 'v1', { map: { l: 'v' } })));
  assert.deepEqual([less.body['text'], less.body['map']], ['z', { l: 'v' }]);
});

test('when the webhook is dead an update leaves everybody what they had, and an apply fails', async () => {
  await define('deads', 'Dead', [version('v1', { text }), version('v2', { words: text })], {
    conversion: webhook,
  });
  const made = well(await apply(path('deads', 'v2'), 'a', thing('Dead', 'v2', { words: 'x' })));
  server.answers.set('/convert', (asked) =>
    conversionAnswer(asked.apiVersion, {
      uid: conversionAsked(asked).uid,
      result: { status: 'Failure', message: 'cannot tell' },
    }),
  );
  const changed = well(await ask('PATCH', `${path('deads', 'v1')}?fieldManager=u`, { text: 'z' }, merge));
  assert.equal(changed.body['text'], 'z');
  assert.deepEqual(entriesOf(changed), entriesOf(made));
  const failed = await apply(path('deads', 'v1'), 'b', thing('Dead', 'v1', { map: { k: 'v' } }));
  assert.equal(failed.status, 500, failed.text);
  assert.equal(failed.message, 'conversion webhook for own.example.com/v1, Kind=Dead failed: cannot tell');
  // Nobody has to be asked for what only its own version owns.
  well(await ask('PATCH', `${path('deads', 'v1')}`, { metadata: { managedFields: [{}] } }, merge));
  well(await apply(path('deads', 'v1'), 'b', thing('Dead', 'v1', { map: { k: 'v' } })));
});

test('a version that is not served is one still; who wrote one that is gone is forgotten', async () => {
  const versions = [version('v1', { text }), version('v2', { text, more: text })];
  await define('olds', 'Old', versions);
  well(await apply(path('olds', 'v2'), 'a', thing('Old', 'v2', { text: 'x', more: 'y' })));
  await redefine('olds', [versions[0]!, { ...versions[1], served: false }]);
  await eventually(async () => assert.equal((await ask('GET', path('olds', 'v2'))).status, 404), {
    everyMs: 5,
  });
  const refused = await apply(path('olds', 'v1'), 'b', thing('Old', 'v1', { text: 'z' }));
  assert.equal(refused.message, 'Apply failed with 1 conflict: conflict with "a": .text', refused.text);
  await redefine('olds', [versions[0]!]);
  await eventually(
    async () =>
      assert.deepEqual(
        ownersOf(well(await apply(path('olds', 'v1'), 'b', thing('Old', 'v1', { text: 'z' })))),
        { [`b ${group}/v1`]: { 'f:text': {} } },
      ),
    { everyMs: 20 },
  );
});

test('what became one value in the definition is owned as one', async () => {
  const versions = (more: object): object[] => [
    version(
      'v1',
      {},
      {
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { text, own: { type: 'object', additionalProperties: text, ...more } },
          },
        },
      },
    ),
    version('v2', {}),
  ];
  await define('ones', 'One', versions({}));
  well(await apply(path('ones', 'v1'), 'a', thing('One', 'v1', { own: { k: 'v' } })));
  await redefine('ones', versions({ 'x-kubernetes-map-type': 'atomic' }));
  await eventually(
    async () => {
      const refused = await apply(
        path('ones', 'v1'),
        'b',
        thing('One', 'v1', { own: { k: 'v', l: 'w' } }),
        '&dryRun=All',
      );
      assert.equal(refused.message, 'Apply failed with 1 conflict: conflict with "a": .own', refused.text);
    },
    { everyMs: 20 },
  );
  const changed = well(await ask('PATCH', `${path('ones', 'v1')}?fieldManager=u`, { text: 'x' }, merge));
  assert.deepEqual(ownersOf(changed), {
    [`a ${group}/v1`]: { 'f:own': {} },
    [`u ${group}/v1`]: { 'f:text': {} },
  });
});

test('a scale knows the replicas of each version where that has them', async () => {
  const versions = [
    version('v1', {}, { subresources: scaledBy('.spec.replicas') }),
    version('v2', {}, { subresources: scaledBy('.spec.size') }),
  ];
  await define('sizes', 'Size', versions, { conversion: webhook });
  well(await apply(path('sizes', 'v2'), 'a', thing('Size', 'v2', { spec: { size: 2 }, map: { k: 'v' } })));
  const scale = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'x' },
    spec: { replicas: 3 },
  };
  const refused = await apply(`${path('sizes', 'v1')}/scale`, 's', scale);
  assert.equal(
    refused.message,
    'Apply failed with 1 conflict: conflict with "a": .spec.replicas',
    refused.text,
  );
  well(await apply(`${path('sizes', 'v1')}/scale`, 's', scale, '&force=true'));
  const now = well(await ask('GET', path('sizes', 'v2')));
  assert.deepEqual(now.body['spec'], { size: 3 });
  assert.deepEqual(ownersOf(now), {
    [`a ${group}/v2`]: { 'f:map': { 'f:k': {} } },
    [`s ${group}/v1`]: { 'f:spec': { 'f:replicas': {} } },
  });
});

test('an empty list of owners resets, as one empty entry does', async () => {
  const maps = '/api/v1/namespaces/default/configmaps';
  await define('empties', 'Empty', [version('v1', {}), version('v2', {})]);
  const things = path('empties', 'v1').replace(/\/x$/, '');
  for (const url of [maps, things])
    for (const [i, managedFields] of [[], [{}]].entries()) {
      const labels = { z: 'y' };
      const made = well(await ask('POST', url, { metadata: { name: `m${i}`, labels } }));
      const own = well(await ask('PATCH', `${url}/m${i}`, { metadata: { labels: { a: 'b' } } }, merge));
      assert.equal(entriesOf(own).length, 1, made.text);
      const put = { ...own.body, metadata: { ...(own.body['metadata'] as object), managedFields } };
      const reset = well(await ask('PUT', `${url}/m${i}`, put));
      assert.equal('managedFields' in (reset.body['metadata'] as object), false, reset.text);
      const patched = await ask('PATCH', `${url}/m${i}`, { metadata: { labels: { a: 'c' } } }, merge);
      assert.deepEqual(entriesOf(well(patched)), []);
      const again = { metadata: { name: `n${i}`, labels: { a: 'b' }, managedFields } };
      assert.equal(entriesOf(well(await ask('POST', url, again))).length, 1, 'a new object has its creator');
    }
});
