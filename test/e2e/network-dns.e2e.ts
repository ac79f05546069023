// Cluster DNS over real sockets: UDP and TCP, the cluster's names, forwarding, truncation, hostile packets, no loops.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { after, before, test } from 'node:test';
import { type DecodedPacket, decode, encode, type RecordType, TRUNCATED_RESPONSE } from 'dns-packet';
import { endpointslices, namespaces, services } from '../../src/api/generated/resources.ts';
import type { Namespace, Service } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { startDns } from '../../src/network/dns/dns-server.ts';
import { type DnsListener, type DnsTransport, exchangeDns, listenDns } from '../../src/wire/dns-sockets.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';

const address = '127.0.0.1';
let upstream: DnsListener;
let server: DnsListener;
let loop: Pick<DnsListener, 'port' | 'close'>;
let loopQuestions = 0;

const serviceInformer = createMemoryInformer<Service>(services, [
  {
    metadata: { name: 'web', namespace: 'default' },
    spec: { clusterIP: '10.96.0.20', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  },
  {
    metadata: { name: 'db', namespace: 'default' },
    spec: { clusterIP: 'None', ports: [{ name: 'sql', port: 5432 }] },
  },
  { metadata: { name: 'big', namespace: 'default' }, spec: { clusterIP: 'None', ports: [{ port: 1 }] } },
  {
    metadata: { name: 'far', namespace: 'default' },
    spec: { type: 'ExternalName', externalName: 'Example.org' },
  },
]);
const slice = (name: string, count: number, base: string): EndpointSlice => ({
  metadata: { name: `${name}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4',
  ports: [{ name: name === 'db' ? 'sql' : '', port: 5432, protocol: 'TCP' }],
  endpoints: Array.from({ length: count }, (_, i) => ({
    addresses: [`${base}.${i >> 8}.${i & 255}`],
    ...(i === 0 ? { hostname: 'db-0' } : {}),
    conditions: { ready: name !== 'db' || i < 2 },
  })),
});
const sliceInformer = createMemoryInformer<EndpointSlice>(endpointslices, [
  slice('db', 3, '10.244'),
  slice('big', 600, '10.245'),
]);
const namespaceInformer = createMemoryInformer<Namespace>(namespaces, [
  { metadata: { name: 'default' }, spec: {} },
]);
const informers = {
  informer: <T>(resource: ResourceRef<T>): Informer<T> =>
    ({ services: serviceInformer, endpointslices: sliceInformer, namespaces: namespaceInformer })[
      resource.resource as 'services'
    ] as unknown as Informer<T>,
};

before(async () => {
  upstream = await listenDns({
    address,
    port: 0,
    handle: async (packet) => {
      const query = decode(packet);
      const name = query.questions![0]!.name;
      return encode({
        type: 'response',
        id: query.id!,
        questions: query.questions!,
        answers: [{ type: 'A', name, ttl: 60, data: '192.0.2.99' }],
      });
    },
  });
  const start = (port: number) =>
    startDns({
      informers,
      address,
      port: 0,
      upstreams: () => [{ address, port }],
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    });
  server = await start(upstream.port);
  // an upstream that sends every question back to the server that asks
  let target = 0;
  const mirror = await listenDns({
    address,
    port: 0,
    handle: async (packet) => {
      loopQuestions++;
      return exchangeDns({ address, port: target }, packet, {
        transport: 'udp',
        timeoutMs: 500,
        accepts: () => true,
      });
    },
  });
  const looped = await start(mirror.port);
  target = looped.port;
  loop = {
    port: looped.port,
    close: async () => {
      await looped.close();
      await mirror.close();
    },
  };
});
after(async () => {
  for (const listener of [server, loop, upstream]) await listener.close();
});

async function query(
  name: string,
  type: RecordType = 'A',
  options: { transport?: DnsTransport; payload?: number; port?: number } = {},
): Promise<DecodedPacket> {
  const packet = encode({
    type: 'query',
    id: 77,
    flags: 256,
    questions: [{ name, type }],
    additionals:
      options.payload === undefined
        ? []
        : [
            {
              type: 'OPT',
              name: '.',
              udpPayloadSize: options.payload,
              extendedRcode: 0,
              ednsVersion: 0,
              flags: 0,
              flag_do: false,
              options: [],
            },
          ],
  });
  const answer = await exchangeDns({ address, port: options.port ?? server.port }, packet, {
    transport: options.transport ?? 'udp',
    timeoutMs: 4000,
    accepts: () => true,
  });
  return decode(answer);
}
const data = (packet: DecodedPacket): unknown[] =>
  packet.answers!.map((a) => ('data' in a ? a.data : undefined)).sort();
const code = (packet: DecodedPacket): string => (packet as unknown as { rcode: string }).rcode;

test('services, headless endpoints, hostnames, ports, pods and reverse names are answered over UDP and TCP', async () => {
  for (const transport of ['udp', 'tcp'] as const) {
    const ask = (name: string, type?: RecordType) => query(name, type, { transport });
    const web = await ask('web.default.svc.cluster.local');
    assert.deepEqual(data(web), ['10.96.0.20']);
    assert.equal(web.answers![0]!.type === 'A' && web.answers![0]!.ttl, 5);
    assert.equal(web.flag_aa, true);
    assert.deepEqual(data(await ask('DB.Default.svc.cluster.local')), ['10.244.0.0', '10.244.0.1']);
    assert.deepEqual(data(await ask('db-0.db.default.svc.cluster.local')), ['10.244.0.0']);
    assert.deepEqual(data(await ask('10-244-0-1.db.default.svc.cluster.local')), ['10.244.0.1']);
    assert.deepEqual(data(await ask('10-244-3-4.default.pod.cluster.local')), ['10.244.3.4']);
    assert.deepEqual(data(await ask('20.0.96.10.in-addr.arpa', 'PTR')), ['web.default.svc.cluster.local']);
    assert.deepEqual(data(await ask('0.0.244.10.in-addr.arpa', 'PTR')), [
      'db-0.db.default.svc.cluster.local',
    ]);
    const srv = await ask('_http._tcp.web.default.svc.cluster.local', 'SRV');
    assert.deepEqual(data(srv), [
      { priority: 0, weight: 100, port: 80, target: 'web.default.svc.cluster.local' },
    ]);
    assert.equal(srv.additionals!.length, 1);
  }
});

test('search lists work: missing names are NXDOMAIN and missing types NODATA, both with a SOA', async () => {
  for (const name of [
    'no.default.svc.cluster.local',
    'web.default.svc.cluster.local.default.svc.cluster.local',
    'example.org.cluster.local',
    '10-244-3-4.none.pod.cluster.local',
    '_ftp._tcp.web.default.svc.cluster.local',
  ]) {
    const answer = await query(name);
    assert.equal(code(answer), 'NXDOMAIN', name);
    assert.equal(answer.authorities![0]!.type, 'SOA');
  }
  for (const [name, type] of [
    ['web.default.svc.cluster.local', 'AAAA'],
    ['default.svc.cluster.local', 'A'],
    ['svc.cluster.local', 'A'],
    ['cluster.local', 'A'],
  ] as const) {
    const answer = await query(name, type);
    assert.deepEqual([code(answer), answer.answers!.length], ['NOERROR', 0], name);
    assert.equal(answer.authorities![0]!.type, 'SOA');
  }
});

test('other names and the target of an ExternalName come from the resolver outside', async () => {
  assert.deepEqual(data(await query('example.com')), ['192.0.2.99']);
  assert.deepEqual(data(await query('example.com', 'A', { transport: 'tcp' })), ['192.0.2.99']);
  assert.deepEqual(data(await query('far.default.svc.cluster.local')), ['192.0.2.99', 'example.org']);
  assert.deepEqual(data(await query('far.default.svc.cluster.local', 'CNAME')), ['example.org']);
});

test('an answer that does not fit says so and is whole over TCP', async () => {
  const small = await query('big.default.svc.cluster.local');
  assert.ok((small.flags! & TRUNCATED_RESPONSE) !== 0);
  assert.ok(small.answers!.length > 5 && small.answers!.length < 30);
  const edns = await query('big.default.svc.cluster.local', 'A', { payload: 4096 });
  assert.ok(edns.answers!.length > small.answers!.length);
  assert.equal(edns.additionals!.at(-1)!.type, 'OPT');
  assert.equal(
    (await query('big.default.svc.cluster.local', 'A', { transport: 'tcp' })).answers!.length,
    600,
  );
});

test('hostile packets are refused or ignored, and the server goes on', async () => {
  const socket = createSocket('udp4');
  const valid = encode({
    type: 'query',
    id: 1,
    questions: [{ name: 'web.default.svc.cluster.local', type: 'A' }],
  });
  const packets = [
    Buffer.alloc(0),
    Buffer.alloc(5),
    Buffer.alloc(12),
    Buffer.alloc(4000, 0xff),
    Buffer.alloc(600, 0xc0),
  ];
  for (let i = 0; i < valid.length; i++) {
    packets.push(Buffer.from(valid.subarray(0, i)));
    const changed = Buffer.from(valid);
    changed[i] = changed[i]! ^ 0xff;
    packets.push(changed);
  }
  const selfPointer = Buffer.concat([valid.subarray(0, 12), Buffer.from([0xc0, 0x0c, 0, 1, 0, 1])]);
  for (const packet of [...packets, selfPointer]) socket.send(packet, server.port, address);
  assert.deepEqual(data(await query('web.default.svc.cluster.local')), ['10.96.0.20']);
  socket.close();
});

test('a resolver that sends questions back ends in an answer, not in a circle', async () => {
  const answer = await query('example.com', 'A', { port: loop.port });
  assert.ok(['REFUSED', 'SERVFAIL'].includes(code(answer)));
  assert.ok(loopQuestions <= 2, String(loopQuestions));
});
