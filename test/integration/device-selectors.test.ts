// Expressions that select devices: what is no expression, no answer of yes or no, or too dear, is told when it is written.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';

let cluster: TestControlPlane;
before(async () => {
  cluster = await startTestControlPlane();
});
after(() => cluster.close());

const classes = '/apis/resource.k8s.io/v1/deviceclasses';
const claims = '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims';
const templates = `${claims}templates`.replace('claimstemplates', 'claimtemplates');
const selectors = (...expressions: readonly string[]): object[] =>
  expressions.map((expression) => ({ cel: { expression } }));
const asClass = (name: string, ...expressions: readonly string[]): object => ({
  metadata: { name },
  spec: { selectors: selectors(...expressions) },
});
const ten = '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]';
const dear = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].reduceRight(
  (inner, name) => `${ten}.all(${name}, ${inner})`,
  "int('1'.find('[0-9]*')) < 100",
);

test('what selects devices is stored', async () => {
  const fine = [
    'device.driver == "gpu.example.com"',
    'device.allowMultipleAllocations',
    'device.attributes["gpu.example.com"].ready',
    'device.attributes["gpu.example.com"].memory > 10 && "b" in device.attributes',
    'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.2.3"))',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("10Gi")) >= 0',
    'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.one && gpu.two.startsWith("x"))',
    'device.attributes.all(domain, device.attributes[domain].all(name, name != "x"))',
  ];
  const made = await cluster.ask('POST', classes, asClass('fine', ...fine));
  assert.equal(made.status, 201, made.text);
});

test('what does not is refused in upstream’s words, wherever it stands', async () => {
  const field = 'spec.selectors[0].cel.expression';
  const wrong = async (expression: string): Promise<string> => {
    const { status, message } = await cluster.ask('POST', classes, asClass('wrong', expression));
    assert.equal(status, 422, message);
    return message;
  };
  const prefix = 'DeviceClass.resource.k8s.io "wrong" is invalid: ';
  assert.equal(
    await wrong('device.model == "x"'),
    `${prefix}${field}: Invalid value: "device.model == \\"x\\"": compilation failed: ERROR: <input>:1:7: undefined field 'model'\n | device.model == "x"\n | ......^`,
  );
  assert.equal(
    await wrong('device.driver'),
    `${prefix}${field}: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string`,
  );
  assert.match(await wrong('claim.spec'), /undeclared reference to 'claim'/);
  assert.equal(await wrong(dear), `${prefix}${field}: Forbidden: too complex, exceeds cost limit`);
  const devices = {
    requests: [
      { name: 'one', exactly: { deviceClassName: 'fine', selectors: selectors('true', '1') } },
      {
        name: 'two',
        firstAvailable: [{ name: 'a', deviceClassName: 'fine', selectors: selectors('device') }],
      },
    ],
  };
  for (const [url, kind, at, spec] of [
    [claims, 'ResourceClaim', 'spec', { devices }],
    [templates, 'ResourceClaimTemplate', 'spec.spec', { spec: { devices } }],
  ] as const) {
    const refused = await cluster.ask('POST', url, { metadata: { name: 'wrong' }, spec });
    const requests = `${at}.devices.requests`;
    const why = 'must evaluate to bool or the unknown type, not';
    assert.equal(
      refused.message,
      `${kind}.resource.k8s.io "wrong" is invalid: [${requests}[0].exactly.selectors[1].cel.expression: Invalid value: "1": ${why} int, ${requests}[1].firstAvailable[0].selectors[0].cel.expression: Invalid value: "device": ${why} kubernetes.DRADevice]`,
    );
  }
});

test('one that is too long is not read, and many of the longest keep nobody waiting', async () => {
  const long = await cluster.ask(
    'POST',
    classes,
    asClass('long', '('.repeat(10 * 1024 + 1), `x${' '.repeat(10 * 1024)}`),
  );
  assert.deepEqual(
    (long.body['details'] as { causes: { field: string; message: string }[] }).causes.map(
      ({ message }) => message,
    ),
    Array(2).fill('Too long: may not be more than 10240 bytes'),
  );
  const nested = `${'('.repeat(5000)}true${')'.repeat(5000)}`;
  const from = process.cpuUsage();
  const refused = await cluster.ask('POST', classes, asClass('nested', ...Array<string>(32).fill(nested)));
  assert.equal(refused.status, 422);
  const { user } = process.cpuUsage(from);
  assert.ok(user < 5_000_000, `${user / 1000} ms`);
});

test('what was stored stays writable, and what changes is looked at', async () => {
  const labelled = await cluster.ask('PATCH', `${classes}/fine`, { metadata: { labels: { a: 'b' } } });
  assert.equal(labelled.status, 200, labelled.text);
  const changed = await cluster.ask('PATCH', `${classes}/fine`, { spec: { selectors: selectors(dear) } });
  assert.deepEqual(
    [changed.status, changed.message],
    [
      422,
      'DeviceClass.resource.k8s.io "fine" is invalid: spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit',
    ],
  );
});
