// Conversion webhooks of custom resources, asked by a real control plane: what is stored in one version is served in all.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerConversions, conversionAsked } from '../harness/conversion-webhook.ts';
import { eventually } from '../harness/eventually.ts';
import {
  converted,
  crds,
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
const apply = { contentType: 'application/apply-patch+yaml' };

test('an object is stored in one version and served in the other, whole and pruned', async () => {
  await define('hosts', 'Host');
  const made = await ask('POST', path('hosts', 'v1'), { metadata: { name: 'a' }, hostPort: 'one:80' });
  assert.equal(made.status, 201, made.text);
  assert.equal((await ask('GET', `${path('hosts', 'v1')}/a`)).body['hostPort'], 'one:80');
  // Nobody is asked for what is stored as it is wanted.
  assert.equal(server.asked.length, 0);
  const other = await ask('GET', `${path('hosts', 'v2')}/a`);
  assert.equal(other.status, 200, other.text);
  const { apiVersion, host, port, tier } = other.body;
  assert.deepEqual([apiVersion, host, port, tier], [`${group}/v2`, 'one', '80', undefined]);
  assert.deepEqual(other.body['metadata'], {
    ...(made.body['metadata'] as object),
  });
  const [review] = server.asked;
  assert.equal(review?.apiVersion, 'apiextensions.k8s.io/v1');
  assert.equal(review?.path, '/convert?timeout=30s');
  assert.equal(review?.headers['user-agent'], 'kube-apiserver-admission');
  const question = conversionAsked(review!);
  assert.equal(question.desiredAPIVersion, `${group}/v2`);
  assert.deepEqual(question.objects, [made.body]);
  // The same bytes are not asked for twice.
  await ask('GET', `${path('hosts', 'v2')}/a`);
  assert.equal(server.asked.length, 1);
});

test('what is written in another version is stored in the one of the definition, and no field of the wrong one', async () => {
  await define('writes', 'Write');
  const made = await ask('POST', path('writes', 'v2'), { metadata: { name: 'a' }, host: 'two', port: '81' });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual([made.body['host'], made.body['port'], made.body['hostPort']], ['two', '81', undefined]);
  server.asked.splice(0);
  const stored = await ask('GET', `${path('writes', 'v1')}/a`);
  assert.deepEqual(
    [stored.body['hostPort'], stored.body['host'], stored.body['tier']],
    ['two:81', undefined, undefined],
  );
  assert.equal(server.asked.length, 0);
  const patched = await ask('PATCH', `${path('writes', 'v2')}/a`, { port: '82' }, merge);
  assert.equal(patched.status, 200, patched.text);
  assert.equal((await ask('GET', `${path('writes', 'v1')}/a`)).body['hostPort'], 'two:82');
  const put = await ask('PUT', `${path('writes', 'v2')}/a`, { ...patched.body, host: 'three' });
  assert.equal(put.body['host'], 'three', put.text);
  const dry = await ask('PATCH', `${path('writes', 'v2')}/a?dryRun=All`, { port: '99' }, merge);
  assert.deepEqual([dry.status, dry.body['port']], [200, '99']);
  assert.equal((await ask('GET', `${path('writes', 'v1')}/a`)).body['hostPort'], 'three:82');
  const gone = await ask('DELETE', `${path('writes', 'v2')}/a`);
  assert.equal(gone.status, 200, gone.text);
  assert.equal((await ask('GET', `${path('writes', 'v1')}/a`)).status, 404);
});

test('what is stored has the defaults of its version and no more, whoever wrote it and before anybody converts it', async () => {
  const zone = { ...text, default: 'a' };
  const [v1, v2] = versions as [object, object];
  const said = (first: object): object => ({
    versions: [
      { ...v1, schema: schemaOf({ hostPort: text, ...first }) },
      { ...v2, schema: schemaOf({ host: text, port: text, zone: text, old: text }) },
    ],
  });
  await define('zones', 'Zone', said({ old: text }));
  await ask('POST', path('zones', 'v1'), { metadata: { name: 'a' }, hostPort: 'one:80', old: 'o' });
  const changed = await ask('PATCH', `${crds}/zones.${group}`, { spec: said({ zone }) }, merge);
  assert.equal(changed.status, 200, changed.text);
  const read = async (version: string, name: string): Promise<unknown[]> => {
    const { body } = await ask('GET', `${path('zones', version)}/${name}`);
    return [body['zone'], body['old']];
  };
  await eventually(async () => assert.deepEqual(await read('v1', 'a'), ['a', undefined]), { everyMs: 5 });
  server.asked.splice(0);
  assert.deepEqual(await read('v2', 'a'), ['a', undefined]);
  const [sent] = conversionAsked(server.asked[0]!).objects;
  assert.deepEqual([sent!['zone'], sent!['old'], sent!['hostPort']], ['a', undefined, 'one:80']);
  const made = await ask('POST', path('zones', 'v2'), { metadata: { name: 'b' }, host: 'two', port: '81' });
  assert.deepEqual([made.status, made.body['zone']], [201, 'a'], made.text);
  server.asked.splice(0);
  assert.deepEqual(await read('v1', 'b'), ['a', undefined]);
  assert.equal(server.asked.length, 0);
});

test('status, scale and apply go through every version', async () => {
  await define('parts', 'Part');
  await ask('POST', path('parts', 'v1'), { metadata: { name: 'a' }, hostPort: 'x:1', spec: { replicas: 2 } });
  const status = await ask('PATCH', `${path('parts', 'v2')}/a/status`, { status: { replicas: 1 } }, merge);
  assert.deepEqual([status.status, status.body['status']], [200, { replicas: 1 }]);
  const scale = await ask('GET', `${path('parts', 'v2')}/a/scale`);
  assert.deepEqual(
    [scale.body['kind'], scale.body['spec'], scale.body['status']],
    ['Scale', { replicas: 2 }, { replicas: 1 }],
  );
  const scaled = await ask('PATCH', `${path('parts', 'v2')}/a/scale`, { spec: { replicas: 5 } }, merge);
  assert.deepEqual([scaled.status, scaled.body['spec']], [200, { replicas: 5 }]);
  const one = await ask('GET', `${path('parts', 'v1')}/a`);
  assert.deepEqual([one.body['spec'], one.body['hostPort']], [{ replicas: 5 }, 'x:1']);
  const applied = await ask(
    'PATCH',
    `${path('parts', 'v2')}/b?fieldManager=me`,
    { apiVersion: `${group}/v2`, kind: 'Part', metadata: { name: 'b' }, host: 'y', port: '2' },
    apply,
  );
  assert.deepEqual([applied.status, applied.body['host']], [201, 'y'], applied.text);
  assert.equal((await ask('GET', `${path('parts', 'v1')}/b`)).body['hostPort'], 'y:2');
});

test('a list asks for what it needs at once, and selectors are of the version that is asked for', async () => {
  await define('lists', 'Item');
  for (const [i, host] of ['red', 'green', 'blue'].entries())
    await ask('POST', path('lists', i === 1 ? 'v2' : 'v1'), {
      metadata: { name: `o${i}`, labels: { i: String(i) } },
      ...(i === 1 ? { host, port: '1' } : { hostPort: `${host}:1` }),
    });
  server.asked.splice(0);
  const hostsOf = (answer: { body: Record<string, unknown> }): unknown[] =>
    (answer.body['items'] as { host: string }[]).map(({ host }) => host);
  const all = await ask('GET', path('lists', 'v2'));
  assert.deepEqual(hostsOf(all), ['red', 'green', 'blue'], all.text);
  assert.equal(server.asked.length, 1);
  assert.deepEqual(
    conversionAsked(server.asked[0]!).objects.map(
      (object) => (object as never as { metadata: { name: string } }).metadata.name,
    ),
    ['o0', 'o2'],
  );
  const labelled = await ask('GET', `${path('lists', 'v2')}?labelSelector=i%3D2&limit=1`);
  assert.deepEqual(hostsOf(labelled), ['blue']);
  const byField = await ask('GET', `${path('lists', 'v2')}?fieldSelector=host%3Dgreen`);
  assert.deepEqual(hostsOf(byField), ['green'], byField.text);
  const stored = await ask('GET', `${path('lists', 'v1')}?fieldSelector=hostPort%3Dblue:1`);
  assert.deepEqual(
    (stored.body['items'] as { hostPort: string }[]).map((o) => o.hostPort),
    ['blue:1'],
  );
  const wrong = await ask('GET', `${path('lists', 'v1')}?fieldSelector=host%3Dblue`);
  assert.deepEqual([wrong.status, wrong.message], [400, 'field label not supported: host']);
  const table = await ask('GET', path('lists', 'v2'), undefined, {
    accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
  });
  assert.equal((table.body['rows'] as unknown[]).length, 3, table.text);
  const cleared = await ask('DELETE', `${path('lists', 'v2')}?fieldSelector=host%3Dgreen`);
  assert.deepEqual([cleared.status, hostsOf(cleared)], [200, ['green']]);
  assert.equal(((await ask('GET', path('lists', 'v1'))).body['items'] as unknown[]).length, 2);
});

test('a watch shows every event in its version, and one with a selector what comes and goes in that version', async () => {
  await define('seen', 'Seen');
  const client = plane.controlPlane.clientFor({ name: 'admin', groups: ['system:masters'] });
  const ending = new AbortController();
  const follow = (fieldSelector?: string): [type: string, host: string][] => {
    const seen: [string, string][] = [];
    const ref = { group, version: 'v2', resource: 'seen', namespaced: true } as never;
    const events = client.watch<{ host: string; apiVersion: string }>(ref, {
      resourceVersion: '0',
      signal: ending.signal,
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    });
    void (async () => {
      for await (const { type, object } of events) seen.push([type, (object as { host: string }).host]);
    })().catch(() => {});
    return seen;
  };
  await ask('POST', path('seen', 'v1'), { metadata: { name: 'a' }, hostPort: 'one:1' });
  const all = follow();
  const many = Array.from({ length: 20 }, () => follow());
  const red = follow('host=red');
  await eventually(() => assert.deepEqual(all, [['ADDED', 'one']]));
  await ask('PATCH', `${path('seen', 'v1')}/a`, { hostPort: 'red:1' }, merge);
  await ask('PATCH', `${path('seen', 'v2')}/a`, { port: '2' }, merge);
  await ask('PATCH', `${path('seen', 'v1')}/a`, { hostPort: 'blue:1' }, merge);
  await ask('POST', path('seen', 'v2'), { metadata: { name: 'b' }, host: 'red' });
  await ask('DELETE', `${path('seen', 'v1')}/b`);
  const told = [
    ['ADDED', 'one'],
    ['MODIFIED', 'red'],
    ['MODIFIED', 'red'],
    ['MODIFIED', 'blue'],
    ['ADDED', 'red'],
    ['DELETED', 'red'],
  ];
  for (const seen of [all, ...many]) await eventually(() => assert.deepEqual(seen, told));
  await eventually(() =>
    assert.deepEqual(
      red.map(([type]) => type),
      ['ADDED', 'MODIFIED', 'DELETED', 'ADDED', 'DELETED'],
    ),
  );
  ending.abort();
  // 21 watchers and all writes: far fewer questions than deliveries.
  assert.ok(server.asked.length <= 16, String(server.asked.length));
});

test('the definition is followed: another webhook, none, and another stored version', async () => {
  await define('moved', 'Moved');
  await ask('POST', path('moved', 'v1'), { metadata: { name: 'a' }, hostPort: 'one:1' });
  const url = `${crds}/moved.${group}`;
  answerConversions(server, '/other', (object, apiVersion) => ({
    ...converted(object, apiVersion),
    metadata: { ...(object['metadata'] as object), labels: { by: 'other' } },
  }));
  const labels = async (): Promise<unknown> =>
    ((await ask('GET', `${path('moved', 'v2')}/a`)).body['metadata'] as { labels?: unknown }).labels;
  assert.equal(await labels(), undefined);
  const webhook = { clientConfig: { url: `${server.url}/other` } };
  assert.equal((await ask('PATCH', url, { spec: { conversion: { webhook } } }, merge)).status, 200);
  await eventually(async () => assert.deepEqual(await labels(), { by: 'other' }));
  const flipped = versions.map((one) => ({ ...one, storage: one.name === 'v2' }));
  assert.equal((await ask('PATCH', url, { spec: { versions: flipped } }, merge)).status, 200);
  await eventually(async () => {
    server.asked.splice(0);
    const made = await ask('POST', path('moved', 'v2'), { metadata: { generateName: 'b-' }, host: 'x' });
    assert.deepEqual([made.status, server.asked.length], [201, 0]);
  });
  // Stored before, written again: it moves, though nothing in it changes.
  const old = await ask('GET', `${path('moved', 'v2')}/a`);
  const again = await ask('PUT', `${path('moved', 'v2')}/a`, old.body);
  assert.equal(again.status, 200, again.text);
  server.asked.splice(0);
  await ask('GET', `${path('moved', 'v2')}/a`);
  assert.equal(server.asked.length, 0);
  const crd = await ask('GET', url);
  assert.deepEqual((crd.body['status'] as { storedVersions: string[] }).storedVersions, ['v1', 'v2']);
  const none = await ask('PATCH', url, { spec: { conversion: { strategy: 'None', webhook: null } } }, merge);
  assert.equal(none.status, 200, none.text);
  await eventually(async () => {
    server.asked.splice(0);
    assert.equal((await ask('GET', `${path('moved', 'v1')}/a`)).status, 200);
    assert.equal(server.asked.length, 0);
  });
});

test('a definition is served when somebody can trust its webhook, and loses that no more', async () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const conversion = (caBundle: string): object => ({
    strategy: 'Webhook',
    webhook: { clientConfig: { url: `${server.url}/convert`, caBundle }, conversionReviewVersions: ['v1'] },
  });
  const name = `trusted.${group}`;
  const names = { plural: 'trusted', kind: 'Trusted' };
  const spec = { group, scope: 'Namespaced', names, versions, conversion: conversion(base64('none')) };
  const made = await ask('POST', crds, { metadata: { name }, spec });
  assert.equal(made.status, 201, made.text);
  const established = async (): Promise<unknown[]> => {
    const { status } = (await ask('GET', `${crds}/${name}`)).body;
    const { conditions = [] } = status as { conditions?: Record<string, string>[] };
    const found = conditions.find(({ type }) => type === 'Established');
    return [found?.['status'], found?.['reason'], found?.['message']];
  };
  const is = (expected: string[]): Promise<void> =>
    eventually(async () => assert.deepEqual(await established(), expected), { everyMs: 5 });
  await is(['False', 'InvalidCABundle', 'The conversion webhook CABundle is invalid']);
  assert.equal((await ask('GET', path('trusted', 'v1'))).status, 404);
  const change = (caBundle: string) =>
    ask('PATCH', `${crds}/${name}`, { spec: { conversion: conversion(caBundle) } }, merge);
  assert.equal((await change(base64('other'))).status, 200, 'it is not served yet');
  assert.equal((await change(server.caBundle)).status, 200);
  await is(['True', 'InitialNamesAccepted', 'the initial names have been accepted']);
  const refused = await change(base64('none'));
  assert.equal(refused.status, 422, refused.text);
  assert.equal(
    refused.body['message'],
    `CustomResourceDefinition.apiextensions.k8s.io "${name}" is invalid: spec.conversion.webhookClientConfig.caBundle: Invalid value: "${base64('none')}": unable to load root certificates: unable to parse bytes as PEM block`,
  );
  await is(['True', 'InitialNamesAccepted', 'the initial names have been accepted']);
});
