// DNS and proxy on the real API server: the Service kube-dns, and informers that follow it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, encode } from 'dns-packet';
import { endpointslices, services } from '../../src/api/generated/resources.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import {
  administrator,
  startTestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { createDnsHandler } from '../../src/network/dns/dns-server.ts';
import { ensureDnsService, lastDnsPort } from '../../src/network/dns/dns-service.ts';
import { keepTables } from '../../src/os/kept-tables.ts';
import { createFakePacketFilter } from '../../src/os/testing/fake-packet-filter.ts';
import { proxyBackends } from '../../src/proxy/backends/registry.ts';
import { startProxy } from '../../src/proxy/proxier.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';

test('kube-dns is made, found by DNS, reached by the proxy, and follows a new address', async (t) => {
  const plane = await startTestControlPlane();
  t.after(() => plane.close());
  const admin = plane.controlPlane.clientFor(administrator);
  await ensureDnsService(admin, { clusterIP: '10.96.0.10', address: '172.30.0.1', port: 5353 });
  await ensureDnsService(admin, { clusterIP: '10.96.0.10', address: '172.30.1.1', port: 5354 });
  const service = await admin.get(services, { name: 'kube-dns', namespace: 'kube-system' });
  assert.equal(service.spec.clusterIP, '10.96.0.10');
  assert.deepEqual(
    service.spec.ports!.map((port) => [port.name, port.port, port.protocol, port.targetPort]),
    [
      ['dns', 53, 'UDP', 5354],
      ['dns-tcp', 53, 'TCP', 5354],
    ],
  );
  const slice = await admin.get(endpointslices, { name: 'kube-dns', namespace: 'kube-system' });
  assert.deepEqual(slice.endpoints![0]!.addresses, ['172.30.1.1']);

  const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
  const informers = frozenInformers({ ...deps, client: admin });
  const ask = createDnsHandler({ informers, upstreams: () => [], ...deps });
  // as a node's proxy may: nothing but services, slices and nodes
  const proxyUser = user('system:kube-proxy', 'system:node-proxier');
  const proxyInformers = frozenInformers({ ...deps, client: plane.controlPlane.clientFor(proxyUser) });
  const packetFilter = createFakePacketFilter();
  const proxy = startProxy({
    informers: proxyInformers,
    nodeName: 'n1',
    clusterCIDR: '10.244.0.0/16',
    reservedCIDRs: [],
    backend: proxyBackends.nftables({
      packetFilter,
      tables: keepTables({ packetFilter, clock: new FakeClock(), log: silentLogger }),
      clusterCIDR: '10.244.0.0/16',
      ...deps,
    }),
    ...deps,
  });
  t.after(async () => {
    await proxy.stop();
    await informers.stop();
    await proxyInformers.stop();
  });
  informers.start();
  proxyInformers.start();
  await informers.waitForSync();
  await proxy.ready();
  const question = { name: 'kube-dns.kube-system.svc.cluster.local', type: 'A' as const };
  const answer = decode(
    (await ask(encode({ type: 'query', id: 9, questions: [question] }), 'udp', '10.244.0.2'))!,
  );
  assert.deepEqual(
    answer.answers!.map((record) => ('data' in record ? record.data : '')),
    ['10.96.0.10'],
  );
  assert.match(packetFilter.applied[0]!, /10\.96\.0\.10 \. udp \. 53 \. 0 : 172\.30\.1\.1 \. 5354/);
});

test('kube-dns of a cluster on the loopback address has no endpoint, and keeps its port', async (t) => {
  const plane = await startTestControlPlane();
  t.after(() => plane.close());
  const admin = plane.controlPlane.clientFor(administrator);
  for (const port of [5353, 5354]) {
    await ensureDnsService(admin, { clusterIP: '10.96.0.10', address: '127.0.0.1', port });
    const slice = await admin.get(endpointslices, { name: 'kube-dns', namespace: 'kube-system' });
    assert.deepEqual(slice.endpoints ?? [], []);
    assert.equal(await lastDnsPort(admin), port);
  }
});
