// The verbs of the API on a real server over memory storage: status codes, messages and bytes as kube-apiserver's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const configMap = (name: string, data: Record<string, string> = {}): object => ({ metadata: { name }, data });
const message = (answer: { json(): Record<string, unknown> }): unknown => answer.json()['message'];
interface Meta {
  readonly metadata: Record<string, string> & {
    generation?: number;
    continue?: string;
    remainingItemCount?: number;
  };
  readonly items: readonly Meta[];
}
const object = (answer: { json(): unknown }): Meta => answer.json() as Meta;

test('create answers 201 with what the server fills in, and 409 for a name that is taken', async () => {
  const made = await server.request('POST', maps('c'), configMap('a', { k: 'v' }));
  assert.equal(made.status, 201);
  const { metadata } = object(made);
  assert.deepEqual(Object.keys(metadata), [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
    'managedFields',
  ]);
  const again = await server.request('POST', maps('c'), configMap('a'));
  assert.equal(again.status, 409);
  assert.equal(
    again.text,
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \\"a\\" already exists","reason":"AlreadyExists","details":{"name":"a","kind":"configmaps"},"code":409}\n',
  );
});

test('a body of another kind, namespace or shape is refused in upstream’s words', async () => {
  const cases: [unknown, number, string | RegExp][] = [
    [
      { kind: 'Service', apiVersion: 'v1', metadata: { name: 'x' } },
      400,
      'Service in version "v1" cannot be handled as a ConfigMap: converting (v1.Service) to (core.ConfigMap): unknown conversion',
    ],
    [
      { metadata: { name: 'x', namespace: 'other' } },
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      { metadata: {} },
      422,
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    ],
    [
      { metadata: { name: 'x' }, data: { k: 1 } },
      400,
      /^ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap\.data of type string$/,
    ],
    ['{"metadata":', 400, /json parse error: unexpected end of JSON input \(\{"metadata":\)$/],
    ['', 400, /json parse error: unexpected end of JSON input \(<empty>\)$/],
    ['abc: 1', 400, /invalid character 'a' looking for beginning of value \(6162633a2031\)$/],
    [`{"kind":1${' '.repeat(40)}}`, 400, /Go struct field \.kind of type string \(\{"kind":1 {21} \.\.\.\)$/],
    [
      { metadata: { name: 'x', resourceVersion: '5' } },
      400,
      'resourceVersion should not be set on objects to be created',
    ],
  ];
  for (const [body, status, text] of cases) {
    const answer = await server.request('POST', maps('c'), body);
    assert.equal(answer.status, status, answer.text);
    if (typeof text === 'string') assert.equal(message(answer), text);
    else assert.match(String(message(answer)), text);
  }
});

test('unknown and duplicate fields are an error when strict, a warning by default', async () => {
  const body = '{"metadata":{"name":"s"},"foo":1,"data":{"a":"1","a":"2"}}';
  const strict = await server.request('POST', `${maps('f')}?fieldValidation=Strict`, body);
  assert.equal(strict.status, 400);
  assert.match(
    String(message(strict)),
    /strict decoding error: .*unknown field "foo".*duplicate field "data.a"/,
  );
  const warned = await server.request('POST', maps('f'), body);
  assert.equal(warned.status, 201);
  assert.deepEqual(warned.headers['warning'], [
    '299 - "unknown field \\"foo\\""',
    '299 - "duplicate field \\"data.a\\""',
  ]);
  const ignored = await server.request('PUT', `${maps('f')}/s?fieldValidation=Ignore`, body);
  assert.equal(ignored.headers['warning'], undefined);
});

test('generateName makes names, and a dry run stores nothing', async () => {
  const made = await server.request('POST', maps('g'), { metadata: { generateName: 'x-' } });
  assert.match(object(made).metadata['name']!, /^x-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  const dry = await server.request('POST', `${maps('g')}?dryRun=All`, configMap('dry'));
  assert.equal(dry.status, 201);
  assert.equal((await server.request('GET', `${maps('g')}/dry`)).status, 404);
});

test('update needs the newest revision when it names one, and a write that changes nothing makes none', async () => {
  const made = object(await server.request('POST', maps('u'), configMap('a', { k: '1' })));
  const stale = await server.request('PUT', `${maps('u')}/a`, {
    metadata: { name: 'a', resourceVersion: '1' },
    data: { k: '2' },
  });
  assert.equal(stale.status, 409);
  assert.equal(
    message(stale),
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  );
  const same = object(await server.request('PUT', `${maps('u')}/a`, made));
  assert.equal(same.metadata['resourceVersion'], made.metadata['resourceVersion']);
  const forced = await server.request('PUT', `${maps('u')}/a`, configMap('a', { k: '3' }));
  assert.equal(forced.status, 200);
  const uid = await server.request('PUT', `${maps('u')}/a`, { metadata: { name: 'a', uid: 'other' } });
  assert.equal(uid.status, 409);
  assert.match(String(message(uid)), /Precondition failed: UID in precondition: other, UID in object meta: /);
  const renamed = await server.request('PUT', `${maps('u')}/a`, configMap('b'));
  assert.equal(message(renamed), 'the name of the object (b) does not match the name on the URL (a)');
  assert.equal((await server.request('PUT', `${maps('u')}/none`, configMap('none'))).status, 404);
});

test('status is written by its own path only, and the generation counts changes of the spec', async () => {
  const path = '/apis/apps/v1/namespaces/s/deployments';
  const body = {
    metadata: { name: 'd' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
    status: { replicas: 7 },
  };
  const made = (await server.request('POST', path, body)).json() as never as Record<
    string,
    Record<string, unknown>
  >;
  assert.equal(made['status']!['replicas'], undefined);
  assert.equal(made['metadata']!['generation'], 1);
  const status = await server.request('PUT', `${path}/d/status`, {
    ...made,
    spec: { ...made['spec'], replicas: 9 },
    status: { replicas: 3 },
  });
  const after1 = status.json() as typeof made;
  assert.equal(after1['spec']!['replicas'], 1);
  assert.equal(after1['status']!['replicas'], 3);
  assert.equal(after1['metadata']!['generation'], 1);
  const patched = await server.request(
    'PATCH',
    `${path}/d`,
    { spec: { replicas: 2 } },
    {
      headers: { 'content-type': 'application/merge-patch+json' },
    },
  );
  const after2 = patched.json() as typeof made;
  assert.equal(after2['metadata']!['generation'], 2);
  assert.equal(after2['status']!['replicas'], 3);
});

test('patches have four types; another is 415', async () => {
  await server.request('POST', maps('p'), configMap('a', { k: '1' }));
  const patch = (type: string, body: unknown) =>
    server.request('PATCH', `${maps('p')}/a`, body, { headers: { 'content-type': type } });
  assert.equal(
    (await patch('application/json-patch+json', [{ op: 'add', path: '/data/j', value: '2' }])).status,
    200,
  );
  // as kube-apiserver, which does not mind that there is nothing to replace
  assert.equal(
    (await patch('application/json-patch+json', [{ op: 'replace', path: '/data/r', value: '1' }])).status,
    200,
  );
  assert.equal((await patch('application/merge-patch+json', { data: { k: null, r: null } })).status, 200);
  assert.equal((await patch('application/strategic-merge-patch+json', { data: { s: '3' } })).status, 200);
  const applied = await server.request(
    'PATCH',
    `${maps('p')}/a?fieldManager=me`,
    { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { y: '4' } },
    { headers: { 'content-type': 'application/apply-patch+yaml' } },
  );
  assert.equal(applied.status, 200);
  assert.deepEqual((applied.json() as { data: unknown }).data, { j: '2', s: '3', y: '4' });
  const other = await patch('text/plain', 'x');
  assert.equal(other.status, 415);
  assert.match(String(message(other)), /^415: Unsupported Media Type/);
});

test('a list comes in pages that show one moment, and selectors choose', async () => {
  for (const name of ['a', 'b', 'c'])
    await server.request('POST', maps('l'), { metadata: { name, labels: { n: name } } });
  const first = object(await server.request('GET', `${maps('l')}?limit=2`));
  assert.equal(first.items.length, 2);
  assert.equal(first.metadata.remainingItemCount, 1);
  const token = first.metadata.continue!;
  const decoded = JSON.parse(Buffer.from(token, 'base64url').toString()) as { v: string; start: string };
  assert.deepEqual([decoded.v, decoded.start], ['meta.k8s.io/v1', 'b\u0000']);
  await server.request('DELETE', `${maps('l')}/c`);
  const second = object(await server.request('GET', `${maps('l')}?limit=2&continue=${token}`));
  assert.deepEqual(
    second.items.map((i) => i.metadata['name']),
    ['c'],
  );
  assert.equal(second.metadata['resourceVersion'], first.metadata['resourceVersion']);
  const some = object(await server.request('GET', `${maps('l')}?labelSelector=n+in+(a,c)`));
  assert.deepEqual(
    some.items.map((i) => i.metadata['name']),
    ['a'],
  );
  const named = object(await server.request('GET', `${maps('l')}?fieldSelector=metadata.name%3Db`));
  assert.deepEqual(
    named.items.map((i) => i.metadata['name']),
    ['b'],
  );
  const wrong = await server.request('GET', `${maps('l')}?fieldSelector=data.x%3Db`);
  assert.equal(wrong.status, 400);
  const match = await server.request('GET', `${maps('l')}?resourceVersionMatch=Exact`);
  assert.equal(
    message(match),
    'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
  );
});

test('events are chosen by the names that each of their groups has for a field', async () => {
  for (const name of ['p', 'q'])
    await server.request('POST', '/api/v1/namespaces/ev/events', {
      metadata: { name: `about-${name}` },
      involvedObject: { kind: 'Pod', name, namespace: 'ev' },
      reason: 'Because',
      source: { component: `s-${name}` },
      reportingComponent: `c-${name}`,
    });
  await server.request('POST', '/api/v1/namespaces/ev/events', {
    metadata: { name: 'of-a-source' },
    involvedObject: { namespace: 'ev' },
    source: { component: 'c-p' },
  });
  const [core, modern] = ['/api/v1', '/apis/events.k8s.io/v1'];
  for (const [root, selector] of [
    [core, 'involvedObject.name=p'],
    [core, 'reportingComponent=c-p'],
    [modern, 'regarding.name=p'],
    [modern, 'regarding.kind=Pod,regarding.name!=q'],
    [core, 'source=s-p'],
    [modern, 'reportingController=c-p'],
    [modern, 'source=s-p'],
  ] as const) {
    const query = `fieldSelector=${encodeURIComponent(selector)}`;
    const list = object(await server.request('GET', `${root}/namespaces/ev/events?${query}`));
    assert.deepEqual(
      list.items.map(({ metadata }) => metadata['name']),
      ['about-p'],
      selector,
    );
  }
  for (const [root, name] of [
    [core, 'regarding.name'],
    [core, 'reportingController'],
    [modern, 'involvedObject.name'],
    [modern, 'reportingComponent'],
  ] as const) {
    const wrong = await server.request('GET', `${root}/namespaces/ev/events?fieldSelector=${name}%3Dp`);
    assert.equal(message(wrong), `field label not supported: ${name}`);
  }
});

test('delete honours preconditions, waits for finalizers and answers a Status', async () => {
  const made = object(
    await server.request('POST', maps('d'), { metadata: { name: 'a', finalizers: ['x.io/y'] } }),
  );
  const other = await server.request('DELETE', `${maps('d')}/a`, { preconditions: { uid: 'no' } });
  assert.equal(other.status, 409);
  assert.equal(
    message(other),
    `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (no) does not match the UID in record (${made.metadata['uid']}). The object might have been deleted and then recreated`,
  );
  const waiting = await server.request('DELETE', `${maps('d')}/a`);
  assert.equal(waiting.status, 200);
  assert.ok(object(waiting).metadata['deletionTimestamp']);
  await server.request(
    'PATCH',
    `${maps('d')}/a`,
    { metadata: { finalizers: null } },
    {
      headers: { 'content-type': 'application/merge-patch+json' },
    },
  );
  assert.equal((await server.request('GET', `${maps('d')}/a`)).status, 404);
  await server.request('POST', maps('d'), configMap('b'));
  const gone = await server.request('DELETE', `${maps('d')}/b`);
  assert.match(
    gone.text,
    /^\{"kind":"Status","apiVersion":"v1","metadata":\{\},"status":"Success","details":\{"name":"b","kind":"configmaps","uid":"[0-9a-f-]{36}"\}\}\n$/,
  );
  await server.request('POST', maps('d'), configMap('c'));
  const foreground = await server.request('DELETE', `${maps('d')}/c?propagationPolicy=Foreground`);
  assert.equal(foreground.status, 200);
  assert.deepEqual(object(foreground).metadata['finalizers'], ['foregroundDeletion']);
  const all = await server.request('DELETE', maps('d2'));
  assert.equal(all.status, 200);
});

test('a collection is deleted by selector, however many it has; a precondition that not all meet is a conflict', async () => {
  for (let i = 0; i < 70; i++)
    await server.request('POST', maps('many'), {
      metadata: { name: `m${i}`, labels: { half: i % 2 ? 'odd' : 'even' } },
    });
  const names = async (): Promise<unknown[]> =>
    object(await server.request('GET', maps('many'))).items.map(({ metadata }) => metadata['name']);
  const gone = await server.request('DELETE', `${maps('many')}?labelSelector=half%3Dodd`);
  assert.equal(gone.status, 200, gone.text);
  assert.equal(object(gone).items.length, 35);
  assert.deepEqual(new Set(await names()), new Set(Array.from({ length: 35 }, (_, i) => `m${2 * i}`)));
  const { metadata } = object(await server.request('GET', `${maps('many')}/m0`));
  const preconditions = { uid: metadata['uid'] };
  const refused = await server.request('DELETE', maps('many'), {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions,
  });
  assert.equal(refused.status, 409, refused.text);
  assert.equal((await names()).length, 34);
});

test('a pod with a node is deleted after its grace, and sooner when asked', async () => {
  const path = '/api/v1/namespaces/g/pods';
  await server.request('POST', path, {
    metadata: { name: 'p' },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
  const graceful = object(await server.request('DELETE', `${path}/p`));
  assert.equal(graceful.metadata['deletionGracePeriodSeconds'] as unknown, 30);
  const longer = object(await server.request('DELETE', `${path}/p`, { gracePeriodSeconds: 60 }));
  assert.equal(longer.metadata['deletionGracePeriodSeconds'] as unknown, 30);
  await server.request('DELETE', `${path}/p?gracePeriodSeconds=0`);
  assert.equal((await server.request('GET', `${path}/p`)).status, 404);
});

test('tables, metadata only, YAML and protobuf are served on request', async () => {
  await server.request('POST', maps('t'), configMap('a', { k: 'v' }));
  const as = (accept: string, path = `${maps('t')}/a`) =>
    server.request('GET', path, undefined, { headers: { accept } });
  const table = (await as('application/json;as=Table;v=v1;g=meta.k8s.io,application/json', maps('t'))).json();
  assert.equal(table['kind'], 'Table');
  assert.deepEqual((table['rows'] as { cells: unknown[] }[])[0]!.cells.slice(0, 2).map(String), ['a', '1']);
  const partial = (await as('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')).json();
  assert.deepEqual(Object.keys(partial), ['kind', 'apiVersion', 'metadata']);
  assert.match((await as('application/yaml')).text, /^apiVersion: v1\n/);
  assert.match((await as('application/vnd.kubernetes.protobuf')).text, /^k8s\0/);
  const none = await as('text/html');
  assert.equal(none.status, 406);
});
