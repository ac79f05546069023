// Where the API server's proxies lead: to pods of the namespace that run, never to the machine that it runs on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../src/apiserver/testing/test-server.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { streamingStorage } from '../../src/registry/core/streaming-storage.ts';

const machine = '192.0.2.2';

test('a podIP of the machine, slices of no pod, of another namespace or another address lead nowhere', async (t) => {
  const server = await startTestServer({
    listen: 'plain',
    restStorage: streamingStorage({
      random: systemRandom,
      isMachine: (ip) => ip === machine,
      connection: () => assert.fail('no kubelet is asked'),
    }),
  });
  t.after(() => server.close());
  const ok = async (method: string, path: string, body: object): Promise<void> => {
    const { status } = await server.request(method, path, body);
    assert.ok(status === 200 || status === 201, `${method} ${path}: ${status}`);
  };
  await ok('POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
  await ok('POST', '/api/v1/nodes', {
    metadata: { name: 'paper', labels: { 'porthole.dev/simulated': 'true' } },
  });
  for (const [namespace, name, podIP, nodeName = ''] of [
    ['default', 'machine', machine],
    ['default', 'mine', '10.244.0.7'],
    ['default', 'drawn', '8.8.8.8', 'paper'],
    ['other', 'theirs', '10.244.0.8'],
  ] as const) {
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    await ok('POST', pods, {
      metadata: { name },
      spec: { nodeName, containers: [{ name: 'c', image: 'x' }] },
    });
    const pod = (await server.request('GET', `${pods}/${name}`)).json();
    await ok('PUT', `${pods}/${name}/status`, { ...pod, status: { podIP, podIPs: [{ ip: podIP }] } });
  }
  const answer = async (path: string): Promise<string> => {
    const { status, json } = await server.request('GET', `/api/v1/namespaces/default/${path}/proxy/`);
    return `${status} ${String(json()['message'])}`;
  };
  assert.equal(await answer('pods/machine:22'), '400 address not allowed');
  assert.equal(
    await answer('pods/https:drawn:443'),
    '503 pod "drawn" is on a simulated node, where nothing runs and nobody answers',
  );

  const targets: readonly (readonly [string, object | undefined, string, string])[] = [
    ['none', undefined, '10.244.0.7', '503 no endpoints available for service "none"'],
    [
      'elsewhere',
      { namespace: 'other', name: 'theirs' },
      '10.244.0.8',
      '503 no endpoints available for service "elsewhere"',
    ],
    [
      'lying',
      { namespace: 'default', name: 'mine' },
      '10.244.0.8',
      '503 no endpoints available for service "lying"',
    ],
    [
      'absent',
      { namespace: 'default', name: 'gone' },
      machine,
      '503 no endpoints available for service "absent"',
    ],
    [
      'drawings',
      { namespace: 'default', name: 'drawn' },
      '8.8.8.8',
      '503 no endpoints that run for service "drawings": its pods are on simulated nodes, where nothing runs and nobody answers',
    ],
    ['machines', { namespace: 'default', name: 'machine' }, machine, '400 address not allowed'],
  ];
  for (const [name, target, address, expected] of targets) {
    await ok('POST', '/api/v1/namespaces/default/services', {
      metadata: { name },
      spec: { ports: [{ port: 22 }] },
    });
    await ok('POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: '', port: 22, protocol: 'TCP' }],
      endpoints: [
        { addresses: [address], ...(target === undefined ? {} : { targetRef: { kind: 'Pod', ...target } }) },
      ],
    });
    assert.equal(await answer(`services/${name}:22`), expected, name);
  }
});
