// Numbers keep what their field's type holds, in every body, patch and media type.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createScheme } from '../../src/api/scheme.ts';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { encodeProtobuf } from '../../src/apimachinery/serializer/protobuf/envelope.ts';
import {
  administrator,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';

const most = '9223372036854775807';
const least = '-9223372036854775808';
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const things = '/apis/example.com/v1/namespaces/default/things';
const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
"x-kubernetes-preserve-unknown-fields":true,"properties":{
"count":{"type":"integer","format":"int64","maximum":9223372036854775000},
"whole":{"type":"integer","format":"int64"},
"share":{"type":"number"},
"filled":{"type":"integer","default":${most}}}}}}}}]}}`;

describe('numbers as the schema says', () => {
  let server: TestControlPlane;
  /** Bodies as text: a number in JavaScript would have lost its digits before it is sent. */
  async function send(
    method: string,
    url: string,
    body: string,
    contentType = 'application/json',
    accept = 'application/json',
  ): Promise<{ readonly status: number; readonly text: string; readonly bytes: Buffer }> {
    const response = await server.controlPlane.handle({
      method,
      url,
      headers: { 'content-type': contentType, accept, 'user-agent': 'test/1' },
      readBody: async () => Buffer.from(body, 'latin1'),
      signal: new AbortController().signal,
      remoteAddress: '192.0.2.7',
      user: administrator,
    });
    const bytes = Buffer.concat([response.body as Buffer].flat());
    return { status: response.status, text: bytes.toString(), bytes };
  }
  const established = async (): Promise<void> => {
    for (;;) {
      const { status } = await send('GET', things, '');
      if (status === 200) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  before(async () => {
    server = await startTestControlPlane();
    const created = await send('POST', crds, crd);
    assert.equal(created.status, 201, created.text);
    assert.ok(created.text.includes('"maximum":9223372036854775000'), created.text);
    assert.ok(created.text.includes(`"default":${most}`));
    await established();
  });
  after(() => server.close());

  const thing = (name: string, spec: string): string =>
    `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"${name}"},"spec":${spec}}`;

  it('a custom resource keeps int64s, floats and what no schema names', async () => {
    const spec = `{"whole":${most},"share":1e21,"free":{"a":[${least},1.50,${most}]}}`;
    const created = await send('POST', things, thing('kept', spec));
    assert.equal(created.status, 201, created.text);
    for (const { text } of [created, await send('GET', `${things}/kept`, '')]) {
      assert.ok(text.includes(`"whole":${most}`), text);
      assert.ok(text.includes('"share":1e+21'), text);
      assert.ok(text.includes(`"a":[${least},1.5,${most}]`), text);
      assert.ok(text.includes(`"filled":${most}`), text);
    }
    const yaml = await send('GET', `${things}/kept`, '', '', 'application/yaml');
    assert.ok(yaml.text.includes(`whole: ${most}`), yaml.text);
  });

  it('bounds are those of the schema', async () => {
    const over = await send('POST', things, thing('over', `{"count":${most}}`));
    // As Go: the bound is compared as a float64, and both are the same one there.
    assert.equal(over.status, 422, over.text);
    for (const number of ['9223372036854775808', '-9223372036854775809', '18446744073709551616', '1e30']) {
      const beyond = await send('POST', things, thing('beyond', `{"whole":${number}}`));
      assert.equal(beyond.status, 422, `${number} is no int64: ${beyond.text}`);
    }
    const text = await send('POST', things, thing('text', '{"whole":1.5}'));
    assert.equal(text.status, 422);
    const huge = await send('POST', things, thing('huge', '{"share":1e400}'));
    assert.equal(huge.status, 400);
    assert.match(huge.text, /cannot unmarshal number 1e400 into Go value of type float64/);
  });

  it('patches of each kind and apply keep the digits', async () => {
    await send('POST', things, thing('patched', `{"whole":${most}}`));
    const url = `${things}/patched`;
    const steps: readonly (readonly [string, string, string])[] = [
      ['application/merge-patch+json', `{"spec":{"a":${least}}}`, `"a":${least}`],
      [
        'application/json-patch+json',
        `[{"op":"test","path":"/spec/a","value":${least}},{"op":"copy","from":"/spec/a","path":"/spec/b"}]`,
        `"b":${least}`,
      ],
      [
        'application/apply-patch+yaml',
        `apiVersion: example.com/v1\nkind: Thing\nspec:\n  filled: ${least}\n`,
        `"filled":${least}`,
      ],
      [
        'application/apply-patch+yaml',
        thing('patched', '{"filled":9007199254740993}'),
        '"filled":9007199254740993',
      ],
    ];
    for (const [type, body, expected] of steps) {
      const answer = await send(
        'PATCH',
        `${url}?fieldManager=m${type.includes('apply') ? '&force=true' : ''}`,
        body,
        type,
      );
      assert.equal(answer.status, 200, answer.text);
      assert.ok(answer.text.includes(expected), answer.text);
      assert.ok(answer.text.includes(`"whole":${most}`), answer.text);
    }
  });

  it('what is no number of JSON is stored nowhere, also when protobuf can say it', async () => {
    const other = crd.replaceAll('example.com', 'other.example.com');
    for (const [name, value] of [
      ['NaN', Number.NaN],
      ['+Inf', Number.POSITIVE_INFINITY],
      ['-Inf', Number.NEGATIVE_INFINITY],
    ] as const) {
      const said = JSON.parse(other, (key, part: unknown) =>
        key === 'maximum' ? value : part,
      ) as JsonObject;
      const body = Buffer.from(encodeProtobuf(createScheme(), said)).toString('latin1');
      const answer = await send('POST', crds, body, 'application/vnd.kubernetes.protobuf');
      assert.deepEqual(JSON.parse(answer.text), {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `json: unsupported value: ${name}`,
        code: 500,
      });
    }
    assert.equal((await send('GET', `${crds}/things.other.example.com`, '')).status, 404);
  });

  it('built-in kinds: int64 fields keep all digits, also by protobuf and strategic merge, and no more than that', async () => {
    const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';
    const body = `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"revision":${most},"data":{"n":${least}}}`;
    const created = await send('POST', revisions, body);
    assert.equal(created.status, 201, created.text);
    assert.ok(created.text.includes(`"revision":${most}`) && created.text.includes(`"n":${least}`));
    const proto = 'application/vnd.kubernetes.protobuf';
    const encoded = await send('GET', `${revisions}/r`, '', '', proto);
    const put = await send('PUT', `${revisions}/r`, encoded.bytes.toString('latin1'), proto);
    assert.equal(put.status, 200, put.text);
    assert.ok(put.text.includes(`"revision":${most}`) && put.text.includes(`"n":${least}`), put.text);
    const labelled = await send(
      'PATCH',
      `${revisions}/r`,
      '{"metadata":{"labels":{"a":"b"}}}',
      'application/strategic-merge-patch+json',
    );
    assert.ok(labelled.text.includes(`"revision":${most}`), labelled.text);
    const beyond = await send('POST', revisions, body.replace(most, '9223372036854775808'));
    assert.equal(beyond.status, 400);
    assert.match(
      beyond.text,
      /cannot unmarshal number 9223372036854775808 into Go struct field ControllerRevision.revision of type int64/,
    );
  });
});
