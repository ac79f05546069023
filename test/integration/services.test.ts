// Cluster IPs and node ports on the real server: given, refused, kept, returned, and repaired at the next start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/component-base/system-clock.ts';
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
    assert.equal(
      outside.message,
      `Service "a" is invalid: spec.clusterIPs: Invalid value: ["${ip}"]: failed to allocate IP ${ip}: the provided network does not match the current range`,
    );
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

const records = '/apis/networking.k8s.io/v1/ipaddresses';
const cidrs = '/apis/networking.k8s.io/v1/servicecidrs';

test('a repair gives back what nobody holds after a minute, and records what a Service holds', async () => {
  let passedMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + passedMs };
  const { ask, controlPlane, close } = await startTestControlPlane({ clock });
  const orphan = (name: string, labels: object): object => ({
    metadata: { name, labels },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'never' } },
  });
  const ours = {
    'ipaddress.kubernetes.io/ip-family': 'IPv4',
    'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
  };
  assert.equal((await ask('POST', records, orphan('10.96.8.1', ours))).status, 201);
  assert.equal((await ask('POST', records, orphan('10.96.8.2', {}))).status, 201);
  await ask('POST', url, service('a', { clusterIP: '10.96.8.3' }));
  await ask('DELETE', `${records}/10.96.8.3`);
  await controlPlane.repair();
  const names = async (): Promise<string[]> => {
    const { items } = (await ask('GET', records)).body as { items: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name).sort();
  };
  assert.deepEqual(await names(), ['10.96.0.1', '10.96.8.1', '10.96.8.2', '10.96.8.3']);
  passedMs = 61_000;
  await controlPlane.repair();
  assert.deepEqual(await names(), ['10.96.0.1', '10.96.8.2', '10.96.8.3']);
  const again = await ask('GET', `${records}/10.96.8.3`);
  assert.deepEqual(again.body.spec, {
    parentRef: { group: '', resource: 'services', namespace: 'default', name: 'a' },
  });
  const refused = await ask('POST', url, service('b', { clusterIP: '10.96.8.3' }));
  assert.match(refused.message, /provided IP is already allocated/);
  await close();
});

test('the ServiceCIDR of the cluster comes back', async () => {
  const { ask, controlPlane, close } = await startTestControlPlane();
  await ask('DELETE', `${cidrs}/kubernetes`);
  assert.match((await ask('POST', url, service('a'))).message, /range is full$/);
  await controlPlane.repair();
  assert.equal((await ask('POST', url, service('a'))).status, 201);
  await close();
});

test('Services of a store that has no records of their ports keep them', async () => {
  const first = await startTestControlPlane();
  const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_900 }] };
  await first.ask('POST', url, service('a', spec));
  const { storage, pki } = first;
  const key = '/registry/ranges/servicenodeports/30900';
  const entry = await storage.get(key);
  await storage.delete(key, { bytes: entry!.value, revisionAt: -1 }, entry!.revision);
  const next = await startTestControlPlane({ storage, pki });
  const taken = await next.ask('POST', url, service('b', spec));
  assert.match(taken.message, /provided port is already allocated/);
  await next.close();
});

test('a ServiceCIDR that is added gives addresses when the first is full, and none once it is deleted', async () => {
  const { ask, close } = await startTestControlPlane({ serviceCidr: '10.96.0.0/30' });
  assert.equal((await ask('POST', url, service('a'))).status, 201);
  const full = await ask('POST', url, service('b'));
  assert.match(full.message, /failed to allocate a serviceIP: range is full/);
  assert.equal(
    (await ask('POST', cidrs, { metadata: { name: 'more' }, spec: { cidrs: ['10.97.0.0/29'] } })).status,
    201,
  );
  const made = await ask('POST', url, service('b'));
  assert.match(specOf(made).clusterIP ?? '', /^10\.97\.0\.[1-6]$/, made.text);
  await ask('PATCH', `${cidrs}/more`, {
    metadata: { finalizers: ['networking.k8s.io/service-cidr-finalizer'] },
  });
  await ask('DELETE', `${cidrs}/more`);
  assert.match((await ask('POST', url, service('c'))).message, /range is full/);
  const named = await ask('POST', url, service('c', { clusterIP: '10.97.0.5' }));
  assert.match(named.message, /the provided network does not match the current range/);
  await close();
});

test("ServiceCIDRs and IPAddresses are refused in upstream's words", async () => {
  const { ask, close } = await startTestControlPlane();
  const refusal = async (spec: object): Promise<string> =>
    (await ask('POST', cidrs, { metadata: { name: 'x' }, spec })).message;
  assert.equal(
    await refusal({}),
    'ServiceCIDR.networking.k8s.io "x" is invalid: spec.cidrs: Required value: at least one CIDR required',
  );
  assert.match(
    await refusal({ cidrs: ['10.1.0.0/24', '10.2.0.0/24'] }),
    /may specify no more than one IP for each IP family, i\.e 192\.168\.0\.0\/24 and 2001:db8::\/64$/,
  );
  assert.match(
    await refusal({ cidrs: ['10.1.0.0'] }),
    /spec\.cidrs\[0\]: Invalid value: "10\.1\.0\.0": must be a valid CIDR value/,
  );
  const moved = await ask('PATCH', `${cidrs}/kubernetes`, { spec: { cidrs: ['10.1.0.0/24'] } });
  assert.match(moved.message, /spec\.cidrs\[0\]: Invalid value: ".*": field is immutable$/);
  const nobody = await ask('POST', records, { metadata: { name: '10.96.1.1' }, spec: {} });
  assert.match(nobody.message, /spec\.parentRef: Required value/);
  const other = await ask('PATCH', `${records}/10.96.0.1`, { spec: { parentRef: { name: 'other' } } });
  assert.match(other.message, /spec\.parentRef: Invalid value: .*: field is immutable$/);
  await close();
});
