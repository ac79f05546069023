// Cluster IPs and node ports on the real server: given, refused, kept, returned, and repaired at the next start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const url = '/api/v1/namespaces/default/services';
const service = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

interface Spec {
  clusterIP?: string;
  clusterIPs?: string[];
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  internalTrafficPolicy?: string;
  ports: { port: number; nodePort?: number }[];
}
const specOf = (answer: { body: Record<string, unknown> }): Spec => answer.body.spec as Spec;

test('a Service gets an address, keeps it over updates, and gives it back', async () => {
  const { ask, close } = await startTestControlPlane();
  const made = await ask('POST', url, service('a'));
  assert.equal(made.status, 201, made.text);
  const spec = specOf(made);
  assert.match(spec.clusterIP ?? '', /^10\.96\./);
  assert.deepEqual(
    [spec.clusterIPs, spec.ipFamilies, spec.ipFamilyPolicy, spec.internalTrafficPolicy],
    [[spec.clusterIP], ['IPv4'], 'SingleStack', 'Cluster'],
  );
  const put = await ask('PUT', `${url}/a`, service('a', { ports: [{ port: 81 }] }));
  assert.equal(specOf(put).clusterIP, spec.clusterIP, put.text);
  const record = await ask('GET', `/apis/networking.k8s.io/v1/ipaddresses/${spec.clusterIP}`);
  assert.deepEqual(record.body.spec, {
    parentRef: { group: '', resource: 'services', namespace: 'default', name: 'a' },
  });
  const changed = await ask(
    'PATCH',
    `${url}/a`,
    { spec: { clusterIP: '10.96.7.7', clusterIPs: ['10.96.7.7'] } },
    {
      contentType: 'application/merge-patch+json',
    },
  );
  assert.equal(changed.status, 422);
  assert.match(
    changed.message,
    /spec\.clusterIPs\[0\]: Invalid value: \["10\.96\.7\.7"\]: may not change once set/,
  );
  await ask('DELETE', `${url}/a`);
  const again = await ask('POST', url, service('b', { clusterIP: spec.clusterIP }));
  assert.equal(specOf(again).clusterIP, spec.clusterIP, again.text);
  await close();
});

test('addresses that are taken, or not of the cluster, are refused', async () => {
  const { ask, close } = await startTestControlPlane();
  const taken = await ask('POST', url, service('a', { clusterIP: '10.96.0.1' }));
  assert.equal(
    taken.message,
    'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.1"]: failed to allocate IP 10.96.0.1: provided IP is already allocated',
  );
  assert.equal(taken.status, 422);
  for (const ip of ['192.168.0.1', '10.96.0.0', '10.96.255.255']) {
    const outside = await ask('POST', url, service('a', { clusterIP: ip }));
    assert.match(outside.message, /is not in the valid range. The range of valid IPs is 10.96.0.0\/16/);
  }
  const nonsense = await ask('POST', url, service('a', { clusterIP: '../../etc' }));
  assert.equal(nonsense.status, 422);
  const dual = await ask('POST', url, service('a', { ipFamilyPolicy: 'RequireDualStack' }));
  assert.match(dual.message, /this cluster is not configured for dual-stack services/);
  await close();
});

test('node ports are given, shared by nobody, and freed when the type changes', async () => {
  const { ask, close } = await startTestControlPlane();
  const made = await ask('POST', url, service('a', { type: 'NodePort' }));
  const port = specOf(made).ports[0]?.nodePort ?? 0;
  assert.ok(port >= 30_000 && port <= 32_767, made.text);
  const taken = await ask(
    'POST',
    url,
    service('b', { type: 'NodePort', ports: [{ port: 1, nodePort: port }] }),
  );
  assert.equal(
    taken.message,
    `Service "b" is invalid: spec.ports[0].nodePort: Invalid value: ${port}: provided port is already allocated`,
  );
  const outside = await ask(
    'POST',
    url,
    service('b', { type: 'NodePort', ports: [{ port: 1, nodePort: 80 }] }),
  );
  assert.match(outside.message, /The range of valid ports is 30000-32767/);
  const put = await ask(
    'PUT',
    `${url}/a`,
    service('a', { type: 'NodePort', ports: [{ port: 80, name: 'x' }] }),
  );
  assert.equal(specOf(put).ports[0]?.nodePort, port);
  await ask(
    'PATCH',
    `${url}/a`,
    { spec: { type: 'ClusterIP' } },
    { contentType: 'application/merge-patch+json' },
  );
  const free = await ask(
    'POST',
    url,
    service('b', { type: 'NodePort', ports: [{ port: 1, nodePort: port }] }),
  );
  assert.equal(free.status, 201, free.text);
  await close();
});

test('a hundred Services at once get a hundred addresses; a dry run takes none', async () => {
  const { ask, close } = await startTestControlPlane();
  const dry = await ask('POST', `${url}?dryRun=All`, service('dry', { clusterIP: '10.96.9.9' }));
  assert.equal(dry.status, 201, dry.text);
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, i) => ask('POST', url, service(`s${i}`, { type: 'NodePort' }))),
  );
  assert.equal(new Set(all.map((a) => specOf(a).clusterIP)).size, 100);
  assert.equal(new Set(all.map((a) => specOf(a).ports[0]?.nodePort)).size, 100);
  const real = await ask('POST', url, service('real', { clusterIP: '10.96.9.9' }));
  assert.equal(real.status, 201, real.text);
  await close();
});

test('a headless Service and an ExternalName take no address', async () => {
  const { ask, close } = await startTestControlPlane();
  const headless = await ask('POST', url, service('h', { clusterIP: 'None', selector: { a: 'b' } }));
  assert.deepEqual([specOf(headless).clusterIP, specOf(headless).clusterIPs], ['None', ['None']]);
  const external = await ask('POST', url, {
    metadata: { name: 'e' },
    spec: { type: 'ExternalName', externalName: 'example.com' },
  });
  assert.equal(external.status, 201, external.text);
  assert.equal(specOf(external).clusterIP, undefined);
  await close();
});

test('the next start knows what was given', async () => {
  const first = await startTestControlPlane();
  const made = await first.ask('POST', url, service('a', { type: 'NodePort' }));
  const spec = specOf(made);
  const next = await startTestControlPlane({ storage: first.storage, pki: first.pki });
  assert.deepEqual(next.controlPlane.bootstrapped, { created: 0, repaired: 0 });
  const taken = await next.ask('POST', url, service('b', { clusterIP: spec.clusterIP }));
  assert.equal(taken.status, 422);
  const port = await next.ask(
    'POST',
    url,
    service('b', { type: 'NodePort', ports: [{ port: 1, nodePort: spec.ports[0]?.nodePort }] }),
  );
  assert.equal(port.status, 422);
  await next.close();
});
