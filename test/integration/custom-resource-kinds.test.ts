// What a custom resource says it is: nobody else says it for it, and what is of another kind or version is refused.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Answer, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { define, path } from './custom-definitions.ts';

const cluster = await startTestControlPlane();
after(() => cluster.close());
await define(cluster, 'gadgets', 'Gadget', { subresources: { status: {} } });

const gadgets = path('gadgets');
const expected = 'test.example.com/v1';
const unrecognized = 'the object provided is unrecognized (must be of type Gadget): ';

/** As it is, with nothing added. */
const send = (method: string, url: string, text: string, contentType?: string): Promise<Answer> =>
  cluster.ask(method, url, Buffer.from(text), contentType === undefined ? {} : { contentType });

const made = await send(
  'POST',
  gadgets,
  `{"apiVersion":"${expected}","kind":"Gadget","metadata":{"name":"a"},"spec":{"size":1}}`,
);
assert.equal(made.status, 201, made.text);

test('a body without a kind is refused with its text, whether it is created or replaced', async () => {
  for (const text of [
    '{"metadata":{"name":"a"}}',
    `{"apiVersion":"${expected}","kind":"","metadata":{"name":"a"}}`,
    `{"apiVersion":"${expected}","kind":null,"metadata":{"name":"a"},"spec":1,"spec":2}`,
    '{}',
  ])
    for (const [method, url] of [
      ['POST', gadgets],
      ['PUT', `${gadgets}/a`],
      ['PUT', `${gadgets}/a/status`],
    ] as const) {
      const { status, message } = await send(method, url, text);
      const head = `${text.slice(0, 30)}${text.length > 30 ? ' ...' : ''}`;
      assert.equal(message, `${unrecognized}Object 'Kind' is missing in '${text}' (${head})`);
      assert.equal(status, 400);
      const ignoring = await send(method, `${url}?fieldValidation=Ignore`, text);
      assert.equal(
        ignoring.message,
        `Gadget in version "v1" cannot be handled as a Gadget: Object 'Kind' is missing in '${text}'`,
      );
    }
  const nothing = await send('POST', gadgets, 'null');
  assert.equal(nothing.message, `${unrecognized}Object 'Kind' is missing in 'null' (6e756c6c)`);
  const yaml = await send('POST', gadgets, 'metadata:\n  name: y\n', 'application/yaml');
  assert.equal(
    yaml.message,
    `${unrecognized}Object 'Kind' is missing in 'metadata:\n  name: y\n' (6d657461646174613a0a20206e616d653a20790a)`,
  );
});

test('a body without an apiVersion, or with another, is refused with what it has, whatever kind it names', async () => {
  const mismatch = (found: string): string =>
    `the API version in the data (${found}) does not match the expected API version (${expected})`;
  const cases: readonly (readonly [string, string])[] = [
    ['{"kind":"Gadget","metadata":{"name":"a"}}', mismatch('')],
    ['{"apiVersion":"","kind":"Other","metadata":{"name":"a"}}', mismatch('')],
    ['{"apiVersion":"v1","kind":"Gadget","metadata":{"name":"a"}}', mismatch('v1')],
    [
      '{"apiVersion":"test.example.com/v2","kind":"Other","metadata":{"name":"a"}}',
      mismatch('test.example.com/v2'),
    ],
    [
      '{"apiVersion":null,"kind":"Gadget","metadata":{"name":"a"}}',
      'Gadget in version "" cannot be handled as a Gadget: .apiVersion accessor error: <nil> is of the type <nil>, expected string',
    ],
    [
      '{"apiVersion":"a/b/c","kind":"Gadget","metadata":{"name":"a"}}',
      `${unrecognized}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)`,
    ],
    [
      '{"apiVersion":5,"kind":"Gadget"}',
      `${unrecognized}couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string ({"apiVersion":5,"kind":"Gadget ...)`,
    ],
  ];
  for (const [text, why] of cases)
    for (const [method, url] of [
      ['POST', gadgets],
      ['PUT', `${gadgets}/a`],
    ] as const) {
      const { status, message } = await send(method, url, text);
      assert.deepEqual([status, message], [400, why]);
    }
});

test('a patch cannot take away what an object is', async () => {
  const kindless = [
    ['{"kind":null}', 'application/merge-patch+json'],
    ['{"kind":""}', 'application/merge-patch+json'],
    ['[{"op":"remove","path":"/kind"}]', 'application/json-patch+json'],
    ['[{"op":"replace","path":"/kind","value":null}]', 'application/json-patch+json'],
  ] as const;
  for (const url of [`${gadgets}/a`, `${gadgets}/a/status`]) {
    for (const [patch, type] of kindless) {
      const { status, message } = await send('PATCH', url, patch, type);
      assert.equal(status, 422, message);
      assert.match(
        message,
        /^ "" is invalid: patch: Invalid value: ".*": Object 'Kind' is missing in '\{.*"name":"a".*\}'$/,
      );
    }
    for (const patch of ['{"apiVersion":null}', '{"apiVersion":""}']) {
      const { status, message } = await send('PATCH', url, patch);
      assert.equal(status, 500);
      assert.equal(
        message,
        "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
      );
    }
    const other = await send('PATCH', url, '{"kind":"Other","apiVersion":"v1"}');
    assert.equal(other.status, 422);
    assert.equal(
      other.message,
      `Other "a" is invalid: [kind: Invalid value: "Other": must be Gadget, apiVersion: Invalid value: "v1": must be ${expected}]`,
    );
    const typed = await send('PATCH', url, '{"kind":5}');
    assert.equal(typed.status, 422);
    assert.match(
      typed.message,
      /: couldn't get version\/kind; json parse error: json: cannot unmarshal number/,
    );
  }
  const still = await cluster.ask('GET', `${gadgets}/a`);
  assert.deepEqual([still.body['kind'], still.body['apiVersion']], ['Gadget', expected]);
});

test('what is applied says what it is, or is refused', async () => {
  const apply = (text: string): Promise<Answer> =>
    send('PATCH', `${gadgets}/b?fieldManager=me`, text, 'application/apply-patch+yaml');
  assert.equal((await apply('{}')).message, 'invalid object type: /, Kind=');
  assert.equal((await apply('{"kind":"Gadget"}')).message, 'invalid object type: /, Kind=Gadget');
});

test('built-in kinds are what their path says', async () => {
  const map = await send('POST', '/api/v1/namespaces/default/configmaps', '{"metadata":{"name":"kindless"}}');
  assert.equal(map.status, 201, map.text);
});
