// Forms that a client asks for and an answer doesn't have: 406 before anything is done, or the next form of its list.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { createScheme } from '../../src/api/scheme.ts';
import { decodeProtobuf } from '../../src/apimachinery/serializer/protobuf/envelope.ts';
import { ProtoReader } from '../../src/apimachinery/serializer/protobuf/reader.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

let cluster: TestControlPlane;
before(async () => {
  cluster = await startTestControlPlane();
});
after(() => cluster.close());

const as = (form: string, type = 'json'): string =>
  `application/${type === 'json' ? 'json' : 'vnd.kubernetes.protobuf'};as=${form};v=v1;g=meta.k8s.io`;
const mediaTypes =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';
const maps = '/api/v1/namespaces/default/configmaps';
const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const question = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } };

const protobufType = 'application/vnd.kubernetes.protobuf';
const yamlType = 'application/yaml';
/** A whole object in its envelope, as clients that read protobuf take it. */
const decoded = (bytes: Buffer): object =>
  decodeProtobuf(createScheme(), bytes, { apiVersion: 'v1', kind: '' });

test('a failure comes in the form that is asked for, whoever refuses', async () => {
  const missing = `${maps}/missing`;
  const failure = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'configmaps "missing" not found',
    reason: 'NotFound',
    details: { name: 'missing', kind: 'configmaps' },
    code: 404,
  };
  const compact = await cluster.ask('GET', missing);
  assert.equal(compact.text, `${JSON.stringify(failure)}\n`);
  const yaml = await cluster.ask('GET', missing, undefined, { accept: yamlType });
  assert.equal(yaml.headers['content-type'], yamlType);
  assert.deepEqual(parse(yaml.text), failure);
  const binary = await cluster.ask('GET', missing, undefined, { accept: protobufType });
  assert.equal(binary.headers['content-type'], protobufType);
  assert.deepEqual(decoded(binary.bytes), failure);
  // Indented text has no end of line, as Go writes it.
  for (const [url, how] of [
    [`${missing}?pretty=1`, {}],
    [`${missing}?pretty=true`, { userAgent: 'kubectl/v1.36.0' }],
    [missing, { userAgent: 'curl/8.0' }],
    [missing, { userAgent: 'Mozilla/5.0 (X11)' }],
    [missing, { accept: 'application/json;pretty=1' }],
    [missing, { accept: as('Table') }],
    [missing, { accept: 'application/cbor, application/json;q=0.1', userAgent: 'Wget/1' }],
  ] as const)
    assert.equal(
      (await cluster.ask('GET', url, undefined, how)).text,
      JSON.stringify(failure, undefined, 2),
      JSON.stringify([url, how]),
    );
  for (const url of [`${missing}?pretty=0`, `${missing}?pretty=yes`])
    assert.equal((await cluster.ask('GET', url, undefined, { userAgent: 'curl/8.0' })).text, compact.text);
  const refusals = [
    ['GET', '/api/v1/namespaces/default/nothings', {}, 404],
    ['DELETE', '/version', {}, 405],
    ['GET', maps, { token: 'wrong' }, 401],
    ['GET', maps, { user: user('nobody') }, 403],
    ['GET', `${maps}?limit=x`, {}, 400],
    ['GET', `${maps}?continue=x`, {}, 400],
    ['POST', maps, { contentType: 'application/cbor' }, 415],
  ] as const;
  for (const [method, url, how, code] of refusals) {
    const body = method === 'POST' ? {} : undefined;
    const told = parse((await cluster.ask(method, url, body, { ...how, accept: yamlType })).text);
    assert.deepEqual([told.kind, told.code], ['Status', code], url);
    const plain = await cluster.ask(method, url, body, { ...how, accept: protobufType });
    assert.deepEqual(decoded(plain.bytes), told, url);
  }
  const forbidden = await cluster.ask('GET', maps, undefined, { user: user('nobody') });
  assert.equal(forbidden.headers['x-content-type-options'], 'nosniff');
});

test('what a failure says is kept out of the way of HTML', async () => {
  const answer = await cluster.ask('GET', `${maps}?labelSelector=%3Cb%3E`);
  assert.match(answer.text, /\\u003c/);
  assert.match(answer.message, /'<'/);
});

test('what nobody takes is refused before anything is done, in the words of who would have answered', async () => {
  const types = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
  const streams = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';
  const routed = (available: string): string =>
    `406: Not Acceptable\n\nAvailable representations: ${available}`;
  const cases = [
    [`${maps}/none`, 'text/html', routed(types)],
    [maps, 'application/*', routed(`${types}, ${streams}`)],
    [maps, 'application/cbor', routed(`${types}, ${streams}`)],
    ['/api', 'text/html', routed(types)],
    ['/api/v1', 'text/html', routed(types)],
    ['/apis/apps/v1', 'text/html', routed(types)],
    ['/apis', 'text/html', mediaTypes],
    ['/apis/apps', 'text/html', mediaTypes],
    ['/version', 'text/html', routed('application/json')],
    [`${maps}?watch=1`, yamlType, `only the following media types are accepted: ${streams}`],
  ] as const;
  for (const [url, accept, message] of cases) {
    const answer = await cluster.ask('GET', url, undefined, { accept });
    if (accept === yamlType) assert.equal(parse(answer.text).message, message);
    else assert.deepEqual([answer.status, answer.message], [406, message], url);
    if (accept === 'text/html') assert.ok(answer.text.startsWith('{\n  "kind": "Status"'), answer.text);
  }
  const refused = await cluster.ask('DELETE', `${maps}/kept`, undefined, { accept: 'text/html' });
  assert.equal(refused.status, 406);
  await cluster.ask('POST', maps, { metadata: { name: 'kept' } });
  await cluster.ask('DELETE', `${maps}/kept`, undefined, { accept: `text/html, ${as('Nothing')}` });
  assert.equal((await cluster.ask('GET', `${maps}/kept`)).status, 200);
  const made = await cluster.ask('POST', maps, { metadata: { name: 'unmade' } }, { accept: 'text/html' });
  assert.deepEqual(
    [made.status, made.message],
    [415, `415: Unsupported Media Type\n\nAvailable representations: ${types}`],
  );
  assert.equal((await cluster.ask('GET', `${maps}/unmade`)).status, 404);
});

test('discovery comes in every form', async () => {
  for (const url of ['/api', '/apis', '/apis/apps', '/api/v1', '/apis/apps/v1']) {
    const { text, body } = await cluster.ask('GET', url);
    assert.equal(text, `${JSON.stringify(body)}\n`);
    const pretty = await cluster.ask('GET', url, undefined, { userAgent: 'curl/8.0' });
    assert.equal(pretty.text, JSON.stringify(body, undefined, 2));
    const yaml = await cluster.ask('GET', url, undefined, { accept: yamlType });
    assert.deepEqual(parse(yaml.text), body);
    const { bytes } = await cluster.ask('GET', url, undefined, { accept: protobufType });
    assert.equal(bytes.subarray(0, 3).toString(), 'k8s');
    // Empty texts and false are not in a message.
    const told = JSON.stringify(decoded(bytes));
    for (const name of url === '/apis' ? ['apps', 'batch'] : [])
      assert.ok(told.includes(`"name":"${name}"`), told);
    if (url === '/api/v1') assert.ok(told.includes('"name":"pods/exec"'), told);
  }
  const version = await cluster.ask('GET', '/version');
  assert.equal(version.text, JSON.stringify(version.body, undefined, 2));
  const root = await cluster.ask('GET', '/');
  assert.equal(root.text, JSON.stringify(root.body, undefined, 2));
});

test('verbs of a resource are a message of their own, as clients that are generated read them', async () => {
  for (const url of ['/api/v1', '/apis/networking.k8s.io/v1']) {
    const { body } = await cluster.ask('GET', url);
    const { bytes } = await cluster.ask('GET', url, undefined, { accept: protobufType });
    const found = held(bytes.subarray(4), 2)
      .flatMap((list) => held(list, 2))
      .map((resource) => ({
        name: String(held(resource, 1)[0]),
        verbs: held(resource, 4).flatMap((verbs) => held(verbs, 1).map(String)),
      }));
    const resources = body['resources'] as { name: string; verbs: string[] }[];
    assert.deepEqual(
      found,
      resources.map(({ name, verbs }) => ({ name, verbs })),
    );
  }
});

/** What a message holds of a field of texts or messages. */
function held(message: Uint8Array, field: number): Buffer[] {
  const reader = new ProtoReader(message);
  const found: Buffer[] = [];
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (number === field && wireType === 2) found.push(Buffer.from(reader.bytes()));
    else reader.skip(wireType);
  }
  return found;
}

/** Fields by number: their name, and what they hold if that is no text. Those of a list are lists. */
type Layout = readonly (readonly [name: string, list: boolean, inner?: Layout] | undefined)[];
const kindLayout: Layout = [undefined, ['group', false], ['version', false], ['kind', false]];
const subresourceLayout: Layout = [
  undefined,
  ['subresource', false],
  ['responseKind', false, kindLayout],
  undefined,
  ['verbs', true],
];
const resourceLayout: Layout = [
  undefined,
  ['resource', false],
  ['responseKind', false, kindLayout],
  ['scope', false],
  ['singularResource', false],
  ['verbs', true],
  ['shortNames', true],
  ['categories', true],
  ['subresources', true, subresourceLayout],
];
const versionLayout: Layout = [
  undefined,
  ['version', false],
  ['resources', true, resourceLayout],
  ['freshness', false],
];
const groupLayout: Layout = [
  undefined,
  ['metadata', false, [undefined, ['name', false]]],
  ['versions', true, versionLayout],
];
const listLayout: Layout = [undefined, ['metadata', false, []], ['items', true, groupLayout]];

function readLayout(reader: ProtoReader, layout: Layout): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  while (!reader.done) {
    const [name, list, inner] = layout[reader.tag().number]!;
    const value = inner === undefined ? reader.string() : readLayout(reader.message(), inner);
    if (list) object[name] = [...((object[name] as unknown[] | undefined) ?? []), value];
    else object[name] = value;
  }
  return object;
}

function readAggregated(bytes: Buffer): Record<string, unknown> {
  const reader = new ProtoReader(bytes, 4);
  reader.tag();
  const head = readLayout(reader.message(), [undefined, ['apiVersion', false], ['kind', false]]);
  reader.tag();
  return { ...head, ...readLayout(reader.message(), listLayout) };
}

test('aggregated discovery comes as JSON, YAML and protobuf, by one name', async () => {
  const form = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const json = await cluster.ask('GET', '/apis', undefined, { accept: `application/json;${form}` });
  assert.equal(json.headers['content-type'], `application/json;${form}`);
  assert.equal(json.text, `${JSON.stringify(json.body)}\n`);
  const pretty = await cluster.ask('GET', '/apis?pretty=1', undefined, {
    accept: `application/json;${form}`,
  });
  assert.equal(pretty.text, JSON.stringify(json.body, undefined, 2));
  const yaml = await cluster.ask('GET', '/apis', undefined, { accept: `${yamlType};${form}` });
  assert.equal(yaml.headers['content-type'], `${yamlType};${form}`);
  assert.deepEqual(parse(yaml.text), json.body);
  const binary = await cluster.ask('GET', '/apis', undefined, { accept: `${protobufType};${form}` });
  assert.equal(binary.headers['content-type'], `${protobufType};${form}`);
  assert.deepEqual(readAggregated(binary.bytes), json.body);
  assert.deepEqual(
    [pretty, yaml, binary].map(({ headers }) => headers['etag']),
    Array(3).fill(json.headers['etag']),
  );
  // The version before is served no more.
  const old = `application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList`;
  const none = await cluster.ask('GET', '/apis', undefined, { accept: old });
  assert.deepEqual([none.status, none.message], [406, mediaTypes]);
  const next = await cluster.ask('GET', '/apis', undefined, { accept: `${old},application/json` });
  assert.equal(next.body['kind'], 'APIGroupList');
});

test('a review and a token have no table: 406, and the next media type when there is one', async () => {
  const serviceAccount = { metadata: { name: 'tabled' } };
  await cluster.ask('POST', '/api/v1/namespaces/default/serviceaccounts', serviceAccount);
  for (const [path, body] of [
    [review, question],
    ['/api/v1/namespaces/default/serviceaccounts/tabled/token', { spec: {} }],
  ] as const) {
    const table = await cluster.ask('POST', path, body, { accept: as('Table') });
    assert.equal(table.status, 406, path);
    assert.equal(table.message, mediaTypes);
    const next = await cluster.ask('POST', path, body, { accept: `${as('Table')},application/json` });
    assert.equal(next.status, 201, next.text);
    assert.equal(next.body['kind'], path === review ? 'SelfSubjectAccessReview' : 'TokenRequest');
  }
});

test('metadata of a list is asked for as a list’s, and that of an object as an object’s', async () => {
  await cluster.ask('POST', maps, { metadata: { name: 'a' } });
  for (const [path, form, refusal] of [
    [maps, 'PartialObjectMetadataList', undefined],
    [`${maps}/a`, 'PartialObjectMetadata', undefined],
    [
      maps,
      'PartialObjectMetadata',
      'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
    ],
    [
      `${maps}/a`,
      'PartialObjectMetadataList',
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
    ],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      'PartialObjectMetadata',
      'you requested PartialObjectMetadata, but the requested object is a list (*rbac.ClusterRoleList)',
    ],
  ] as const) {
    const answer = await cluster.ask('GET', path, undefined, { accept: as(form) });
    assert.equal(answer.status, refusal === undefined ? 200 : 406, answer.text);
    if (refusal === undefined) assert.equal(answer.body['kind'], form);
    else assert.equal(answer.message, refusal);
  }
});

test('a list of metadata is that of the objects, small or large, byte for byte of what is stored', async () => {
  for (const [count, size] of [
    [2, 10],
    [5, 40_000],
  ] as const) {
    for (let i = 0; i < count; i++) {
      const metadata = { name: `m-${size}-${i}`, labels: { of: `s${size}` }, annotations: { a: '}"\\ä日' } };
      const made = await cluster.ask('POST', maps, {
        metadata,
        data: { metadata: '{"x":'.repeat(size / 5) },
      });
      assert.equal(made.status, 201, made.text);
    }
    const path = `${maps}?labelSelector=of%3Ds${size}`;
    const whole = await cluster.ask('GET', path);
    const items = whole.body['items'] as { metadata: object }[];
    assert.equal(items.length, count);
    for (const version of ['v1', 'v1beta1']) {
      const accept = as('PartialObjectMetadataList').replace('v=v1', `v=${version}`);
      const listed = await cluster.ask('GET', path, undefined, { accept });
      const apiVersion = `meta.k8s.io/${version}`;
      const expected = {
        kind: 'PartialObjectMetadataList',
        apiVersion,
        metadata: whole.body['metadata'],
        items: items.map(({ metadata }) => ({ kind: 'PartialObjectMetadata', apiVersion, metadata })),
      };
      assert.equal(listed.text, `${JSON.stringify(expected)}\n`);
    }
  }
});

test('a list of metadata of nothing', async () => {
  const accept = as('PartialObjectMetadataList');
  const { text, body } = await cluster.ask('GET', `${maps}?labelSelector=of%3Dnothing`, undefined, {
    accept,
  });
  assert.deepEqual(body['items'], []);
  assert.match(text, /"items":\[\]\}\n$/);
});

test('a table has no protobuf form', async () => {
  const table = await cluster.ask('GET', maps, undefined, { accept: as('Table', 'protobuf') });
  assert.deepEqual([table.status, table.message], [406, mediaTypes]);
  const next = await cluster.ask('GET', maps, undefined, {
    accept: `${as('Table', 'protobuf')},${as('Table')}`,
  });
  assert.equal(next.body['kind'], 'Table');
});

test('the scale of a workload is a row of how many there should be and how many there are', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 3, selector: { matchLabels: labels }, template };
  const made = await cluster.ask('POST', deployments, { metadata: { name: 'scaled' }, spec });
  assert.equal(made.status, 201, made.text);
  const { body } = await cluster.ask('GET', `${deployments}/scaled/scale`, undefined, {
    accept: `${as('Table')},application/json`,
  });
  assert.equal(body['kind'], 'Table');
  const columns = body['columnDefinitions'] as { name: string; type: string }[];
  assert.deepEqual(
    columns.map(({ name, type }) => [name, type]),
    [
      ['Name', 'string'],
      ['Desired', 'integer'],
      ['Available', 'integer'],
      ['Age', 'string'],
    ],
  );
  const [row] = body['rows'] as { cells: unknown[] }[];
  assert.deepEqual(row?.cells.slice(0, 3), ['scaled', 3, 0]);
  const plain = await cluster.ask('GET', `${deployments}/scaled/scale`);
  assert.equal(plain.body['kind'], 'Scale');
});

test('the scale of a custom resource is a row, too, with the columns of its definition’s paths', async () => {
  const scale = { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' };
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {}, scale },
    additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
  };
  const names = { plural: 'sets', kind: 'Set' };
  const definition = {
    metadata: { name: 'sets.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions: [version] },
  };
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const defined = await cluster.ask('POST', definitions, definition);
  assert.equal(defined.status, 201, defined.text);
  const sets = '/apis/example.com/v1/namespaces/default/sets';
  await eventually(async () => assert.equal((await cluster.ask('GET', sets)).status, 200));
  const one = { apiVersion: 'example.com/v1', kind: 'Set', metadata: { name: 'one' }, spec: { size: 2 } };
  const made = await cluster.ask('POST', sets, one);
  assert.equal(made.status, 201, made.text);
  const { body } = await cluster.ask('GET', `${sets}/one/scale`, undefined, { accept: as('Table') });
  assert.equal(body['kind'], 'Table');
  const columns = body['columnDefinitions'] as { name: string; type: string; description: string }[];
  assert.deepEqual(
    columns.map(({ name, type }) => [name, type]),
    [
      ['Name', 'string'],
      ['Desired', 'integer'],
      ['Available', 'integer'],
      ['Age', 'date'],
    ],
  );
  assert.deepEqual((body['rows'] as { cells: unknown[] }[])[0]?.cells.slice(0, 3), ['one', 2, 0]);
  const listed = await cluster.ask('GET', sets, undefined, { accept: as('Table') });
  const own = listed.body['columnDefinitions'] as { description: string }[];
  assert.equal(own[1]?.description, 'Custom resource definition column (in JSONPath format): .spec.size');
  // A custom resource has no protobuf form: the next of the list, or none.
  for (const url of [sets, `${sets}/one`, `${sets}/one/scale`]) {
    const next = await cluster.ask('GET', url, undefined, { accept: `${protobufType},application/json` });
    assert.equal(next.status, 200, next.text);
    const none = await cluster.ask('GET', url, undefined, { accept: protobufType });
    assert.equal(none.status, 406);
    assert.match(none.bytes.toString('latin1'), /only the following media types are accepted: /);
  }
});

test('a table says what Go’s empty lists are, and asks only who wants one what goes with it', async () => {
  await cluster.ask('POST', maps, { metadata: { name: 'rowed' } });
  const rowOf = async (include: string): Promise<unknown> => {
    const { body } = await cluster.ask('GET', `${maps}/rowed${include}`, undefined, { accept: as('Table') });
    return (body['rows'] as { object: { kind: string } | null }[])[0]!.object?.kind ?? null;
  };
  assert.equal(await rowOf(''), 'PartialObjectMetadata');
  assert.equal(await rowOf('?includeObject=Object'), 'ConfigMap');
  assert.equal(await rowOf('?includeObject=None'), null);
  const raw = await cluster.ask('GET', `${maps}/rowed?includeObject=None`, undefined, {
    accept: as('Table'),
  });
  assert.match(raw.text, /"object":null/);
  const wrong = `${maps}?includeObject=All`;
  const refused = await cluster.ask('GET', wrong, undefined, { accept: `${as('Table')},application/json` });
  assert.deepEqual(
    [refused.status, refused.message],
    [
      400,
      `Unable to convert to Table as requested: includeObject: Invalid value: "All": must be 'Metadata', 'Object', 'None', or empty`,
    ],
  );
  assert.equal((await cluster.ask('GET', wrong)).status, 200);
});

const encoded = (token: object | string): string =>
  Buffer.from(typeof token === 'string' ? token : JSON.stringify(token)).toString('base64url');

test('options of lists and watches are refused in upstream’s order and words', async () => {
  const late = `${'0'.repeat(70)}${'9'.repeat(400)}`;
  const options = 'ListOptions.meta.k8s.io "" is invalid: ';
  const match = 'resourceVersionMatch: ';
  const both = `${match}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`;
  const supported = 'supported values: "NotOlderThan"';
  const next = encoded({ v: 'meta.k8s.io/v1', rv: 1, start: 'a' });
  const fault = (text: string, why: string): string =>
    `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": ${why}`;
  const cases: readonly (readonly [string, number, string])[] = [
    ['watch=1&sendInitialEvents=true', 422, `${options}${both}`],
    [
      'watch=1&sendInitialEvents=true&resourceVersionMatch=Exact',
      422,
      `${options}[${both}, ${match}Unsupported value: "Exact": ${supported}]`,
    ],
    [
      'watch=1&resourceVersionMatch=Exact&continue=x',
      422,
      `${options}[${match}Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, ${match}Unsupported value: "Exact": ${supported}, ${match}Forbidden: resourceVersionMatch is forbidden when continue is provided]`,
    ],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
      422,
      `${options}[${match}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]`,
    ],
    // What is none of the kind's fields is found after what is wrong with any list.
    [
      'fieldSelector=foo%3Dbar&sendInitialEvents=1',
      422,
      `${options}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`,
    ],
    ['limit=x&labelSelector=%3C', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['resourceVersion=x', 400, `invalid resource version: ${fault('x', 'invalid syntax')}`],
    [
      'resourceVersion=99999999999999999999',
      400,
      `invalid resource version: ${fault('99999999999999999999', 'value out of range')}`,
    ],
    [`resourceVersion=${late}`, 400, `invalid resource version: ${fault(late, 'value out of range')}`],
    ['watch=1&resourceVersion=x', 400, `invalid resource version: ${fault('x', 'invalid syntax')}`],
    [
      `continue=${next}&resourceVersion=7`,
      400,
      'specifying resource version is not allowed when using continue',
    ],
  ];
  const tokens: readonly (readonly [string, string])[] = [
    ['a!', 'illegal base64 data at input byte 1'],
    ['abcde', 'illegal base64 data at input byte 4'],
    [encoded('{'), 'unexpected end of JSON input'],
    [encoded({ v: 'v2', rv: 1, start: 'a' }), 'server does not recognize this encoded version v2'],
    [
      encoded({ v: 'meta.k8s.io/v1', start: 'a' }),
      'incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    ],
    [encoded({ v: 'meta.k8s.io/v1', rv: 1 }), 'encoded start key empty (version meta.k8s.io/v1)'],
    ...['../../secrets', 'a//b', 'a/', '.'].map(
      (start) => [encoded({ v: 'meta.k8s.io/v1', rv: 1, start }), start] as const,
    ),
  ];
  for (const [token, why] of tokens) {
    const answer = await cluster.ask('GET', `${maps}?limit=1&continue=${token}`);
    assert.deepEqual(
      [answer.status, answer.message],
      [400, `invalid continue token: continue key is not valid: ${why}`],
    );
  }
  for (const [query, code, message] of cases) {
    const answer = await cluster.ask('GET', `${maps}?${query}`);
    assert.deepEqual([answer.status, answer.message], [code, message], query);
  }
});

test('a watch from no revision is told where what there was ends, if it takes bookmarks', async () => {
  await cluster.ask('POST', maps, { metadata: { name: 'watched' } });
  const watch = `${maps}?watch=1&timeoutSeconds=1&allowWatchBookmarks=1`;
  for (const from of ['', '&resourceVersion=0']) {
    const { text } = await cluster.ask('GET', watch + from);
    const events = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const ends = events.find(({ type }) => type === 'BOOKMARK')!.object.metadata;
    assert.deepEqual(Object.keys(ends).sort(), ['annotations', 'resourceVersion']);
    assert.deepEqual(ends.annotations, { 'k8s.io/initial-events-end': 'true' });
  }
});
