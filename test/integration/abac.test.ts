// Attribute-based access control: rules by the line in a file, beside the server's own authorizers.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { UserInfo } from '../../src/apiserver/authentication/user-info.ts';
import { configuredAuthorization } from '../../src/cmd/compose/configured-authorization.ts';
import { type Logger, silentLogger } from '../../src/component-base/logger.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const { path: folder, remove } = scratchDirectory('abac');
after(remove);

let files = 0;
function fileOf(...lines: (string | object)[]): string {
  const file = join(folder, `${files++}.jsonl`);
  writeFileSync(
    file,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );
  return file;
}
const policy = (spec: object): object => ({
  apiVersion: 'abac.authorization.kubernetes.io/v1beta1',
  kind: 'Policy',
  spec,
});
const deps = { clock: systemClock, log: silentLogger, defer: (stop: () => void) => after(stop) };

async function planeWith(authorizationPolicyFile: string, more: object = {}): Promise<TestControlPlane> {
  const authorizers = await configuredAuthorization(
    { authorizationMode: ['ABAC', 'RBAC'], authorizationPolicyFile },
    { ...deps, ...more },
  );
  const plane = await startTestControlPlane({ authorizers });
  after(() => plane.close());
  return plane;
}

const nobody: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

const statusOf = async (
  plane: TestControlPlane,
  who: UserInfo,
  method: string,
  url: string,
  body?: object,
): Promise<number> => (await plane.ask(method, url, body, { user: who })).status;

const configMaps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const map = { metadata: { generateName: 'a-' } };

test('a rule lets its subjects do what it says, in its namespace, to its resource', async () => {
  const metrics = createMetrics();
  const file = fileOf(
    '# who works here',
    '',
    '   \t\r',
    policy({ user: 'bob', namespace: 'default', resource: 'configmaps', apiGroup: '' }),
    policy({ group: 'readers', readonly: true, namespace: '*', resource: '*', apiGroup: '*' }),
    policy({ user: 'ann', group: 'readers', namespace: 'default', resource: 'secrets' }),
    policy({ namespace: '*', resource: '*', apiGroup: '*', nonResourcePath: '*' }),
  );
  const plane = await planeWith(file, { metrics });
  const [bob, reader] = [user('bob'), user('r', 'readers')];
  assert.equal(await statusOf(plane, bob, 'POST', configMaps('default'), map), 201);
  assert.equal(await statusOf(plane, bob, 'GET', configMaps('default')), 200);
  assert.equal(await statusOf(plane, bob, 'GET', configMaps('kube-system')), 403);
  assert.equal(await statusOf(plane, bob, 'GET', '/apis/apps/v1/namespaces/default/deployments'), 403);
  assert.equal(await statusOf(plane, reader, 'GET', '/apis/apps/v1/deployments'), 200);
  assert.equal(await statusOf(plane, reader, 'POST', configMaps('default'), map), 403);
  // Who is named by both has to be both.
  const secrets = '/api/v1/namespaces/default/secrets';
  assert.equal(await statusOf(plane, user('ann'), 'GET', secrets), 403);
  assert.equal(await statusOf(plane, user('ann', 'readers'), 'POST', secrets, map), 201);
  assert.match(
    (await plane.ask('GET', configMaps('kube-system'), undefined, { user: bob })).message,
    /cannot list resource "configmaps" in API group "" in the namespace "kube-system": No policy matched\.$/,
  );
  assert.match(
    (await metrics.text()).text,
    /^apiserver_authorization_decisions_total\{decision="allowed",name="abac",type="ABAC"\} 4$/m,
  );
});

test('a star is everybody who is somebody; whoever is nobody has to be named', async () => {
  const starred = await planeWith(
    fileOf(
      policy({ user: '*', nonResourcePath: '/metrics' }),
      policy({ group: '*', nonResourcePath: '/logs*' }),
    ),
  );
  const strangers = (plane: TestControlPlane, path: string) => statusOf(plane, nobody, 'GET', path);
  assert.equal(await statusOf(starred, user('x'), 'GET', '/metrics'), 200);
  assert.equal(await strangers(starred, '/metrics'), 403);
  assert.equal(await statusOf(starred, user('x'), 'GET', '/logs'), 404);
  assert.equal(await statusOf(starred, user('x'), 'GET', '/logs/deep/down'), 404);
  assert.equal(await statusOf(starred, user('x'), 'GET', '/log'), 403);
  const named = await planeWith(
    fileOf(policy({ group: 'system:unauthenticated', nonResourcePath: '/metrics' })),
  );
  assert.equal(await strangers(named, '/metrics'), 200);
  assert.equal(await statusOf(named, user('x'), 'GET', '/metrics'), 403);
});

test('the old form, without a version: what it does not say is everything, and the log says so', async () => {
  const warnings: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (_: unknown, text?: string) => void warnings.push(text ?? ''),
  };
  const plane = await planeWith(
    fileOf({ user: 'old' }, { user: 'near', namespace: 'default', readonly: true }, 'user: yaml'),
    { log },
  );
  assert.equal(await statusOf(plane, user('old'), 'POST', configMaps('kube-system'), map), 201);
  assert.equal(await statusOf(plane, user('old'), 'GET', '/metrics'), 200);
  assert.equal(await statusOf(plane, user('near'), 'GET', configMaps('default')), 200);
  assert.equal(await statusOf(plane, user('near'), 'POST', configMaps('default'), map), 403);
  assert.equal(await statusOf(plane, user('near'), 'GET', '/metrics'), 403);
  assert.equal(await statusOf(plane, user('yaml'), 'GET', '/metrics'), 200);
  assert.match(warnings.join(), /rules without a version/);
  const everybody = await planeWith(fileOf('{}'));
  assert.equal(await statusOf(everybody, user('x'), 'GET', '/metrics'), 200);
  assert.equal(await statusOf(everybody, nobody, 'GET', '/metrics'), 403);
});

test('a review of one’s rules lists them', async () => {
  const plane = await planeWith(
    fileOf(
      policy({ user: 'bob', readonly: true, namespace: 'default', resource: 'pods', apiGroup: '*' }),
      policy({ user: 'bob', namespace: '*', nonResourcePath: '/logs*' }),
      policy({ user: 'bob', namespace: 'other', resource: 'pods' }),
    ),
  );
  const review = await plane.ask(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    { spec: { namespace: 'default' } },
    { user: user('bob') },
  );
  // A rule on one's own reviews is RBAC's.
  assert.equal(review.status, 201, review.message);
  const status = review.body.status as unknown as Record<string, object[]>;
  assert.deepEqual(status['resourceRules']?.[0], {
    verbs: ['get', 'list', 'watch'],
    apiGroups: ['*'],
    resources: ['pods'],
  });
  assert.deepEqual(status['nonResourceRules']?.[0], { verbs: ['*'], nonResourceURLs: ['/logs*'] });
});

test('a file that cannot be followed is refused by its name and line', async () => {
  const good = policy({ user: 'bob' });
  const cases: readonly (readonly [string | object, string])[] = [
    ['{"user":', "couldn't get version/kind; json parse error: unexpected end of JSON input"],
    ['bob,default,pods', 'json parse error: json: cannot unmarshal string into Go value'],
    [
      policy({ user: 7 }),
      'json: cannot unmarshal number into Go struct field PolicySpec.spec.user of type string',
    ],
    [{ readonly: 'yes' }, 'json: cannot unmarshal string into Go struct field Policy.readonly of type bool'],
    [{ apiVersion: 'v1', kind: 'Pod' }, 'no kind "Pod" is registered for version "v1"'],
    [
      { apiVersion: 'abac.authorization.kubernetes.io/v1', kind: 'Policy' },
      'no kind "Policy" is registered for version "abac.authorization.kubernetes.io/v1"',
    ],
  ];
  for (const [line, why] of cases) {
    const file = fileOf(good, '# a word', line);
    const written = typeof line === 'string' ? line : JSON.stringify(line);
    await assert.rejects(planeWith(file), (error: Error) => {
      assert.ok(
        error.message.startsWith(`error reading policy file ${file}, line 3: ${written}: `),
        error.message,
      );
      assert.ok(error.message.includes(why), error.message);
      return true;
    });
  }
  const long = fileOf(`{"user":"${'x'.repeat(70_000)}"}`);
  await assert.rejects(planeWith(long), {
    message: `error reading policy file ${long}: bufio.Scanner: token too long`,
  });
  // Names that every object has are no fields of a rule.
  const inherited = await planeWith(fileOf('{"__proto__":{"user":"bob"},"user":"ann"}'));
  assert.equal(await statusOf(inherited, user('bob'), 'GET', '/metrics'), 403);
});

test('flags that do not go together are refused', async () => {
  const authorizationPolicyFile = fileOf('{}');
  const refused = (flags: object, why: RegExp) => assert.rejects(configuredAuthorization(flags, deps), why);
  await refused(
    { authorizationMode: ['ABAC'] },
    /^Error: authorization-mode ABAC's authorization policy file not passed$/,
  );
  const without = /^Error: cannot specify --authorization-policy-file without mode ABAC$/;
  await refused({ authorizationPolicyFile }, without);
  await refused({ authorizationMode: ['RBAC'], authorizationPolicyFile }, without);
  await refused(
    { authorizationMode: ['ABAC'], authorizationPolicyFile: join(folder, 'none') },
    /^Error: --authorization-policy-file .*none: ENOENT/,
  );
});

test('a configuration file may name it, too, beside the flag with its rules', async () => {
  const authorizationConfig = fileOf({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers: [{ type: 'ABAC', name: 'abac' }],
  });
  const authorizers = await configuredAuthorization(
    { authorizationConfig, authorizationPolicyFile: fileOf({ user: 'bob' }) },
    deps,
  );
  const plane = await startTestControlPlane({ authorizers });
  after(() => plane.close());
  assert.equal(await statusOf(plane, user('bob'), 'GET', '/metrics'), 200);
  assert.equal(await statusOf(plane, user('ann'), 'GET', '/metrics'), 403);
});
