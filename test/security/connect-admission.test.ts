// Policies and webhooks about CONNECT: exec, attach, port-forward and proxies are refused, or done as they say, by whatever form they are asked for.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { streamingStorage } from '../../src/registry/core/streaming-storage.ts';
import { eventually } from '../harness/eventually.ts';

/** What the node's kubelet was asked for. */
const reached: string[] = [];
const kubelet = createServer(({ url = '' }, response) => {
  reached.push(url);
  response.end('here');
}).listen(0, '127.0.0.1');
await once(kubelet, 'listening');
const { port } = kubelet.address() as AddressInfo;
const plane = await startTestControlPlane({
  streaming: streamingStorage({
    isMachine: () => false,
    random: systemRandom,
    connection: () => ({ host: '127.0.0.1', port }),
  }),
});
after(async () => {
  await plane.close();
  kubelet.closeAllConnections();
  kubelet.close();
});
const { ask } = plane;
const registration = '/apis/admissionregistration.k8s.io/v1';
const pods = '/api/v1/namespaces/default/pods';

const rules = (operation: string, ...resources: string[]): object => ({
  resourceRules: [{ operations: [operation], apiGroups: [''], apiVersions: ['v1'], resources }],
});

async function make(kind: string, name: string, spec: object): Promise<void> {
  for (const [what, content] of [
    [`${kind}policies`, spec],
    [
      `${kind}policybindings`,
      { policyName: name, ...(kind.startsWith('v') ? { validationActions: ['Deny'] } : {}) },
    ],
  ] as const) {
    const answer = await ask('POST', `${registration}/${what}`, { metadata: { name }, spec: content });
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.warnings, []);
  }
}

await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
await ask('POST', '/api/v1/nodes', { metadata: { name: 'n' } });
const made = await ask('POST', pods, {
  metadata: { name: 'a' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});
assert.equal(made.status, 201, made.text);

test('what a policy denies is refused, whoever asks by GET or POST, in escapes or with more behind it', async () => {
  await make('validatingadmission', 'no-shell', {
    matchConstraints: rules('CONNECT', 'pods/exec', 'pods/attach', 'pods/portforward', 'pods/proxy'),
    validations: [
      {
        expression:
          "request.subResource == 'exec' ? !object.command.exists(c, c.contains('sh')) : request.subResource == 'proxy' ? !object.path.startsWith('/admin') : request.subResource == 'portforward' ? !object.ports.exists(p, p == 22) : !has(object.stdin)",
      },
    ],
  });
  const denied = /ValidatingAdmissionPolicy 'no-shell' with binding 'no-shell' denied request/;
  await eventually(async () => {
    const { message } = await ask('POST', `${pods}/a/exec?command=sh&stdout=1`);
    assert.match(message, denied);
  });
  const refused = [
    'exec?command=sh&stdout=1',
    'exec?command=ls&command=bash&stdout=true',
    'exec?stdout=1&comman%64=sh',
    '%65xec?stdout=1&command=s%68',
    'attach?stdin=1',
    'portforward?ports=80,22',
    'portforward?ports=80&ports=22',
    'proxy/admin/x',
    'proxy/%61dmin',
    'proxy/admin/../x',
  ];
  const open = ['exec?command=ls&stdout=1', 'attach?stdout=1', 'portforward?ports=80', 'proxy/x'];
  for (const method of ['GET', 'POST'])
    for (const [list, isDenied] of [
      [refused, true],
      [open, false],
    ] as const)
      for (const one of list) {
        const { status, message } = await ask(method, `${pods}/a/${one}`);
        assert.ok(status >= 400, one);
        assert.equal(denied.test(message), isDenied, `${method} ${one}: ${message}`);
      }
});

test('what a policy changes is what is done: another container, another path of the node', async () => {
  const connect = (mutation: object, ...resources: string[]): object => ({
    matchConstraints: rules('CONNECT', ...resources),
    reinvocationPolicy: 'Never',
    mutations: [mutation],
  });
  const replaced = (path: string, value: string): object => ({
    patchType: 'JSONPatch',
    jsonPatch: { expression: `[JSONPatch{op: "replace", path: "${path}", value: "${value}"}]` },
  });
  await make('mutatingadmission', 'container', connect(replaced('/container', 'other'), 'pods/exec'));
  await make('mutatingadmission', 'path', connect(replaced('/path', '/open/a b'), 'nodes/proxy'));
  await make(
    'mutatingadmission',
    'attached',
    connect(
      { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{container: "c"}' } },
      'pods/attach',
    ),
  );
  await eventually(async () => {
    const { message } = await ask('POST', `${pods}/a/exec?command=ls&stdout=1&container=c`);
    assert.equal(message, 'container other is not valid for pod a');
  });
  await eventually(async () => {
    assert.equal((await ask('GET', '/api/v1/nodes/n/proxy/closed?x=1')).text, 'here');
    assert.equal(reached.at(-1), '/open/a%20b?x=1');
  });
  await eventually(async () => {
    const { message } = await ask('POST', `${pods}/a/attach?stdout=1`);
    assert.equal(
      message,
      "policy 'attached' with binding 'attached' denied request: error applying patch: failed to convert patch object to typed object: no corresponding type for /v1, Kind=PodAttachOptions",
    );
  });
});
