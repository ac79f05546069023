// Conversion webhooks that lie, flood, hang or answer nonsense: what the user is told, in upstream's words, and that no
// object is changed by them beyond what they may.
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
import { startWebhookServer, type WebhookAnswer } from '../harness/webhook-server.ts';

const plane = await startTestControlPlane();
const server = await startWebhookServer();
after(async () => {
  await plane.close();
  await server.close();
});
const { ask } = plane;
const group = 'liar.example.com';
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const path = (version: string): string => `/apis/${group}/${version}/namespaces/default/things`;
const schema = {
  openAPIV3Schema: { type: 'object', properties: { a: { type: 'string' } } },
};
const about = `conversion webhook for ${group}/v1, Kind=Thing`;

await ask('POST', crds, {
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      { name: 'v1', served: true, storage: true, schema },
      { name: 'v2', served: true, storage: false, schema },
    ],
    conversion: {
      strategy: 'Webhook',
      webhook: {
        clientConfig: { url: `${server.url}/convert`, caBundle: server.caBundle },
        conversionReviewVersions: ['v1'],
      },
    },
  },
});
await eventually(async () => assert.equal((await ask('GET', path('v1'))).status, 200));
for (const name of ['one', 'two']) {
  const made = await ask('POST', path('v1'), { metadata: { name, labels: { l: 'v' } }, a: 'b' });
  assert.equal(made.status, 201, made.text);
}

beforeEach(() => server.answers.clear());

const get = (name = 'one') => ask('GET', `${path('v2')}/${name}`);

async function whyFailed(answer: WebhookAnswer, url = `${path('v2')}/one`): Promise<string> {
  server.answers.set('/convert', () => answer);
  const { status, message, body } = await ask('GET', url);
  assert.deepEqual([status, body['reason'], body['code']], [500, undefined, 500], message);
  return message;
}

/** The answer of a webhook that converts as it should, but for this. */
const withResponse = (
  response: (uid: string, objects: Converted[]) => unknown,
  apiVersion?: string,
): void => {
  server.answers.set('/convert', (asked) => {
    const { uid, objects, desiredAPIVersion } = conversionAsked(asked);
    const right = objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
    return conversionAnswer(apiVersion ?? asked.apiVersion, response(uid, right));
  });
};
const result = { status: 'Success' };

async function whyRefused(
  response: (uid: string, objects: Converted[]) => unknown,
  apiVersion?: string,
): Promise<string> {
  withResponse(response, apiVersion);
  const { status, message } = await get();
  assert.equal(status, 500, message);
  return message;
}

test('an answer that is none of the review is refused', async () => {
  const raw =
    (body: string, status = 200, type = 'application/json'): WebhookAnswer =>
    (to) =>
      void to.writeHead(status, { 'content-type': type }).end(body);
  assert.equal(
    await whyFailed(raw('')),
    `${about} failed: 0-length response with status code: 200 and content type: application/json`,
  );
  assert.match(
    await whyFailed(raw('nonsense')),
    /failed: couldn't get version\/kind; json parse error: invalid character/,
  );
  assert.match(await whyFailed(raw('[]')), /failed: couldn't get version\/kind; json parse error/);
  assert.equal(
    await whyFailed(raw('', 404)),
    `${about} failed: the server could not find the requested resource`,
  );
  assert.equal(
    await whyFailed(raw('boom', 500, 'text/plain')),
    `${about} failed: an error on the server ("boom") has prevented the request from succeeding`,
  );
  assert.match(
    await whyFailed((to) => to.destroy()),
    /failed: Post "https:\/\/127\.0\.0\.1:\d+\/convert\?timeout=30s": EOF$/,
  );
  const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
  assert.match(await whyFailed(raw(`{"response":${deep}}`)), /json parse error: exceeded max depth/);
  const flood = (to: Parameters<Extract<WebhookAnswer, (...all: never[]) => void>>[0]): void => {
    to.writeHead(200, { 'content-type': 'application/json' });
    const more = (): void => {
      while (to.write(Buffer.alloc(1 << 20, 0x20))) if (to.destroyed) return;
    };
    to.on('drain', more);
    to.on('error', () => {});
    more();
  };
  assert.match(await whyFailed(flood), new RegExp(`^${about.replaceAll('.', '\\.')} failed: Post`));
});

test('the response must be of the question, and say that it succeeded', async () => {
  assert.equal(await whyRefused(() => undefined), `${about} failed: no response provided`);
  assert.match(
    await whyRefused((_, convertedObjects) => ({ uid: 'x', result, convertedObjects })),
    / failed: expected response\.uid="[0-9a-f-]{36}", got "x"$/,
  );
  assert.equal(
    await whyRefused(
      (uid, convertedObjects) => ({ uid, result, convertedObjects }),
      'apiextensions.k8s.io/v1beta1',
    ),
    `${about} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1beta1, Kind=ConversionReview`,
  );
  assert.equal(
    await whyRefused((uid) => ({ uid, result: { status: 'Failure', message: 'not today' } })),
    `${about} failed: not today`,
  );
  assert.equal(
    await whyRefused((uid, convertedObjects) => ({ uid, convertedObjects })),
    `${about} failed: response.result.status was '', not 'Success'`,
  );
  assert.equal(await whyRefused((uid) => ({ uid, result })), `${about} returned 0 objects, expected 1`);
  assert.equal(
    await whyRefused((uid, [one]) => ({ uid, result, convertedObjects: [one, one] })),
    `${about} returned 2 objects, expected 1`,
  );
  assert.match(
    await whyRefused((uid) => ({ uid, result, convertedObjects: {} })),
    /failed: json: cannot unmarshal object into Go struct field ConversionReview\.response\.convertedObjects/,
  );
});

const withMetadata =
  (change: (metadata: Converted) => unknown) =>
  (uid: string, objects: Converted[]): unknown => ({
    uid,
    result,
    convertedObjects: objects.map((one) => ({ ...one, metadata: change(one['metadata'] as Converted) })),
  });
const withObject =
  (change: (object: Converted) => unknown) =>
  (uid: string, objects: Converted[]): unknown => ({ uid, result, convertedObjects: objects.map(change) });

test('a converted object must be the one that was sent, in the version that was asked for', async () => {
  const invalid = `${about} returned invalid object`;
  assert.equal(
    await whyRefused(withObject((one) => ({ ...one, apiVersion: `${group}/v1` }))),
    `${invalid} at index 0: invalid groupVersion (expected ${group}/v2, received ${group}/v1)`,
  );
  assert.equal(
    await whyRefused(withObject((one) => ({ ...one, kind: 'Other' }))),
    `${invalid} at index 0: invalid kind (expected Thing, received Other)`,
  );
  assert.match(await whyRefused(withObject(({ kind, ...one }) => one)), /^Object 'Kind' is missing in '\{/);
  assert.equal(await whyRefused(withObject(() => null)), 'unexpected end of JSON input');
  assert.equal(
    await whyRefused(withMetadata((m) => ({ ...m, name: 'two' }))),
    `${invalid}: must have the same name: one != two`,
  );
  assert.equal(
    await whyRefused(withMetadata((m) => ({ ...m, namespace: 'kube-system' }))),
    `${invalid}: must have the same namespace: default != kube-system`,
  );
  assert.match(
    await whyRefused(withMetadata((m) => ({ ...m, uid: 'x' }))),
    /: must have the same UID: [0-9a-f-]{36} != x$/,
  );
  assert.equal(
    await whyRefused(withObject(({ metadata, ...one }) => one)),
    `${invalid}: must have the same name: one != `,
  );
  const metadata = `${about} returned invalid metadata`;
  assert.equal(
    await whyRefused(withMetadata((m) => ({ ...m, labels: 'x' }))),
    `${metadata}: invalid metadata.labels of type string in converted object`,
  );
  assert.equal(
    await whyRefused(withMetadata((m) => ({ ...m, annotations: { a: 1 } }))),
    `${metadata}: metadata.annotations[a] must be a string, but is int64 in converted object`,
  );
  assert.match(
    await whyRefused(withMetadata((m) => ({ ...m, labels: { 'a b': 'c' } }))),
    /invalid metadata: metadata\.labels: Invalid value: "a b": name part must consist/,
  );
  assert.match(
    await whyRefused(withMetadata((m) => ({ ...m, annotations: { a: 'x'.repeat(300_000) } }))),
    /invalid metadata: metadata\.annotation: Too long: may not be more than 262144 bytes/,
  );
});

test('labels and annotations may change, and nothing else of metadata; what the schema does not know goes', async () => {
  withResponse((uid, objects) => ({
    uid,
    result,
    convertedObjects: objects.map((one) => ({
      ...one,
      stray: { secret: true },
      metadata: {
        ...(one['metadata'] as object),
        labels: { l: 'new' },
        annotations: { from: 'webhook' },
        resourceVersion: '1',
        generation: 77,
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        finalizers: ['stay.example.com/here'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'y' }],
        managedFields: [],
        selfLink: '/x',
      },
    })),
  }));
  const stored = (await ask('GET', `${path('v1')}/two`)).body;
  const { body, status, text } = await get('two');
  assert.equal(status, 200, text);
  assert.deepEqual(body, {
    ...stored,
    apiVersion: `${group}/v2`,
    metadata: { ...(stored['metadata'] as object), labels: { l: 'new' }, annotations: { from: 'webhook' } },
  });
});

test('of a list, one lie refuses all, and no watch begins with it', async () => {
  withResponse((uid, objects) => ({
    uid,
    result,
    convertedObjects: objects.map((one, i) => (i === 0 ? one : { ...one, kind: 'Other' })),
  }));
  // Written anew, so that nothing is remembered of them.
  for (const name of ['one', 'two'])
    await ask(
      'PATCH',
      `${path('v1')}/${name}`,
      { a: 'again' },
      { contentType: 'application/merge-patch+json' },
    );
  const list = await ask('GET', path('v2'));
  assert.deepEqual(
    [list.status, list.message],
    [
      500,
      `${about} returned invalid converted object at index 1: invalid kind (expected Thing, received Other)`,
    ],
  );
  assert.equal((await ask('GET', `${path('v2')}?watch=true`)).status, 500);
  // Whoever reads what is stored is not held up.
  assert.equal((await ask('GET', path('v1'))).status, 200);
});

test('what can not be converted can not be written or deleted through that version, and can through the stored one', async () => {
  server.answers.set('/convert', () => (to) => void to.writeHead(503).end());
  const failed = `${about} failed: the server is currently unable to handle the request`;
  const before = await ask('GET', `${path('v1')}/one`);
  const merge = { contentType: 'application/merge-patch+json' };
  for (const answer of [
    await ask('PATCH', `${path('v2')}/one`, { a: 'x' }, merge),
    await ask('DELETE', `${path('v2')}/one`),
    await ask('DELETE', path('v2')),
  ])
    assert.deepEqual([answer.status, answer.message], [500, failed]);
  const made = await ask('POST', path('v2'), { metadata: { name: 'three' } });
  assert.deepEqual([made.status, made.message], [500, failed.replace('/v1,', '/v2,')]);
  assert.deepEqual((await ask('GET', `${path('v1')}/one`)).body, before.body);
  assert.equal((await ask('GET', `${path('v1')}/three`)).status, 404);
  assert.equal((await ask('DELETE', `${path('v1')}/two`)).status, 200);
});

test('a definition goes with its objects though its webhook is dead', async () => {
  server.answers.set('/convert', () => (to) => to.destroy());
  assert.equal((await ask('DELETE', `${crds}/things.${group}`)).status, 200);
  await eventually(async () => assert.equal((await ask('GET', `${crds}/things.${group}`)).status, 404));
});

test('many objects go in calls of a bounded size', async () => {
  answerConversions(server, '/convert', (object, apiVersion) => ({ ...object, apiVersion }));
  const plural = 'bulks';
  const name = `${plural}.${group}`;
  const crd = {
    metadata: { name },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind: 'Bulk' },
      versions: [
        { name: 'v1', served: true, storage: true, schema },
        { name: 'v2', served: true, storage: false, schema },
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: `${server.url}/convert`, caBundle: server.caBundle },
          conversionReviewVersions: ['v1beta1', 'v1'],
        },
      },
    },
  };
  assert.equal((await ask('POST', crds, crd)).status, 201);
  const url = (version: string): string => path(version).replace('things', plural);
  await eventually(async () => assert.equal((await ask('GET', url('v1'))).status, 200));
  for (let i = 0; i < 30; i++)
    await ask('POST', url('v1'), { metadata: { name: `b${i}` }, a: 'x'.repeat(i === 9 ? 400_000 : 20_000) });
  server.asked.splice(0);
  const list = await ask('GET', url('v2'));
  assert.equal((list.body['items'] as { apiVersion: string }[]).length, 30);
  const sizes = server.asked.map((one) => JSON.stringify(conversionAsked(one).objects).length);
  assert.ok(sizes.length >= 10, String(sizes));
  assert.equal(sizes.filter((size) => size > 80_000).length, 1);
  assert.equal(server.asked[0]?.apiVersion, 'apiextensions.k8s.io/v1beta1');
});
