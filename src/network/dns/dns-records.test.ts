// Answers of the cluster DNS from Services, slices and pods.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, encode } from 'dns-packet';
import type { Service } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { countReads } from '../../base/testing/counted-reads.ts';
import { readQuestion, writeReply } from './dns-message.ts';
import { type Resolution, Zone } from './dns-records.ts';
import { upstreamsOf } from './resolv-conf.ts';

const headless: Service = {
  metadata: { name: 'db', namespace: 'd' },
  spec: { clusterIP: 'None', ports: [{ name: 'sql', port: 5432 }] },
};
const slice: EndpointSlice = {
  metadata: { name: 'db-1', namespace: 'd', labels: { 'kubernetes.io/service-name': 'db' } },
  addressType: 'IPv4',
  ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }],
  endpoints: [
    { addresses: ['10.244.1.2'], hostname: 'db-0', conditions: { ready: true } },
    { addresses: ['10.244.2.2'] },
    { addresses: ['10.244.3.2'], conditions: { ready: false } },
  ],
};
const zone = new Zone(
  {
    service: (namespace, name) => (namespace === 'd' && name === 'db' ? headless : undefined),
    slices: () => [slice],
    namespaceExists: (name) => name === 'd',
    servicesByIP: () => [],
    slicesByAddress: (ip) => (ip === '10.244.1.2' ? [slice] : []),
  },
  { clusterDomain: 'cluster.local', ttl: 5 },
);
const kind = (name: string, type = 'A'): Resolution['kind'] => zone.resolve(name, type).kind;

test('a headless service gives SRV records with a name and an address for each ready endpoint', () => {
  const found = zone.resolve('_sql._tcp.db.d.svc.cluster.local', 'SRV');
  assert.ok(found.kind === 'answers');
  assert.deepEqual(
    found.answers.map((answer) => (answer.type === 'SRV' ? answer.data : undefined)),
    [
      { priority: 0, weight: 50, port: 5432, target: 'db-0.db.d.svc.cluster.local' },
      { priority: 0, weight: 50, port: 5432, target: '10-244-2-2.db.d.svc.cluster.local' },
    ],
  );
  assert.deepEqual(
    found.additionals.map((record) => ('data' in record ? record.data : undefined)),
    ['10.244.1.2', '10.244.2.2'],
  );
});

test('names of no endpoint, no namespace and no shape are missing; what is not the cluster is outside', () => {
  for (const name of [
    'db-9.db.d.svc.cluster.local',
    'db.none.svc.cluster.local',
    'none.svc.cluster.local',
    'x.y.z.db.d.svc.cluster.local',
    '__proto__.d.svc.cluster.local',
    '.svc.cluster.local',
    '999-1-1-1.d.pod.cluster.local',
  ])
    assert.equal(kind(name), 'noName', name);
  for (const name of ['example.org', 'notcluster.local', 'xcluster.local', '', '1.in-addr.arpa'])
    assert.equal(kind(name), 'outside', name);
  assert.equal(kind('9.9.9.9.in-addr.arpa', 'PTR'), 'outside');
  assert.equal(kind('2.1.244.10.in-addr.arpa', 'PTR'), 'answers');
  assert.equal(kind('dns-version.cluster.local', 'TXT'), 'answers');
});

test('addresses of IPv6 have records and names, and a slice of names has none', () => {
  const both: EndpointSlice = {
    ...slice,
    endpoints: [{ addresses: ['fd00:0::7'], hostname: 'six' }, { addresses: ['db.example.org'] }],
  };
  const service: Service = {
    metadata: { name: 'web', namespace: 'd' },
    spec: { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7', 'fd00:96::7'], ports: [{ port: 80 }] },
  };
  const asked: string[] = [];
  const dual = new Zone(
    {
      service: (_, name) => ({ db: headless, web: service })[name],
      slices: () => [both],
      namespaceExists: () => true,
      servicesByIP: (ip) => (ip === 'fd00:96::7' ? [service] : []),
      slicesByAddress: (ip) => {
        asked.push(ip);
        return ip === 'fd00::7' ? [both] : [];
      },
    },
    { clusterDomain: 'cluster.local', ttl: 5 },
  );
  const data = (name: string, type: string): readonly unknown[] | string => {
    const found = dual.resolve(name, type);
    return found.kind === 'answers' ? found.answers.map((one) => 'data' in one && one.data) : found.kind;
  };
  assert.deepEqual(data('web.d.svc.cluster.local', 'A'), ['10.96.0.7']);
  assert.deepEqual(data('web.d.svc.cluster.local', 'AAAA'), ['fd00:96::7']);
  assert.deepEqual(data('db.d.svc.cluster.local', 'ANY'), ['fd00:0::7']);
  assert.equal(data('db.d.svc.cluster.local', 'A'), 'noData');
  assert.deepEqual(data('fd00--7.d.pod.cluster.local', 'AAAA'), ['fd00::7']);
  assert.equal(data('fd00--7.d.pod.cluster.local', 'A'), 'noData');
  const nibbles = (ip: string): string => `${[...ip.replaceAll(':', '')].reverse().join('.')}.ip6.arpa`;
  const service6 = nibbles('fd00:0096:0000:0000:0000:0000:0000:0007');
  assert.deepEqual(data(service6, 'PTR'), ['web.d.svc.cluster.local']);
  const host6 = nibbles('fd00:0000:0000:0000:0000:0000:0000:0007');
  assert.deepEqual(data(host6, 'PTR'), ['six.db.d.svc.cluster.local']);
  assert.equal(data(host6, 'AAAA'), 'noData');
  assert.deepEqual(asked, ['fd00::7', 'fd00::7']);
  for (const part of ['0.d.f.ip6.arpa', host6.replace(/^7/, '77'), host6.replace(/^7/, 'g')])
    assert.equal(data(part, 'PTR'), 'outside', part);
});

test('questions are read strictly', () => {
  const query = (more: object): Buffer =>
    encode({ type: 'query', id: 5, questions: [{ name: 'a', type: 'A' }], ...more });
  assert.equal(readQuestion(query({})).kind, 'question');
  assert.deepEqual(readQuestion(query({ questions: [] })), { kind: 'refuse', id: 5, rcode: 1, edns: false });
  assert.deepEqual(readQuestion(query({ flags: 2 << 11 })), { kind: 'refuse', id: 5, rcode: 4, edns: false });
  assert.deepEqual(readQuestion(query({ questions: [{ name: 'a', type: 'A', class: 'CH' }] })), {
    kind: 'refuse',
    id: 5,
    rcode: 5,
    edns: false,
  });
  assert.equal(readQuestion(encode({ type: 'response', id: 5, questions: [] })).kind, 'ignore');
});

test('a cut answer fits, says so and keeps what it can', () => {
  const question = { id: 1, name: 'big', type: 'A', recursionDesired: true, ednsPayloadBytes: undefined };
  const answers = Array.from({ length: 500 }, (_, i) => ({
    type: 'A' as const,
    name: 'big',
    ttl: 5,
    data: `10.0.${i >> 8}.${i & 255}`,
  }));
  const packet = writeReply(question, { rcode: 0, authoritative: true, answers }, 'udp');
  assert.ok(packet.length <= 512);
  const decoded = decode(packet);
  assert.ok(decoded.flag_tc && decoded.answers!.length > 20);
});

test('resolvers of the machine are taken from resolv.conf, without our own', () => {
  const text =
    '# nameserver 1.1.1.1\nnameserver 192.0.2.1\n nameserver  172.30.0.1\nnameserver x;y\nsearch a\n';
  assert.deepEqual(upstreamsOf(text, ['172.30.0.1']), [{ address: '192.0.2.1', port: 53 }]);
});

test('of thousands of records no more are written than the transport could carry', () => {
  const written = new Set<number>();
  const answers = Array.from({ length: 20_000 }, (_, i) => ({
    type: 'SRV' as const,
    name: '_p._tcp.big.ns.svc.cluster.local',
    ttl: 5,
    get data() {
      written.add(i);
      return { priority: 0, weight: 1, port: i, target: 'big.ns.svc.cluster.local' };
    },
  }));
  for (const [transport, limit] of [
    ['udp', 4096],
    ['tcp', 65_535],
  ] as const) {
    written.clear();
    const question = {
      id: 7,
      name: answers[0]!.name,
      type: 'SRV',
      recursionDesired: true,
      ednsPayloadBytes: 4096,
    };
    const packet = writeReply(question, { rcode: 0, authoritative: true, answers }, transport);
    assert.ok(
      packet.length <= limit && packet.length > limit * 0.9,
      `${packet.length} bytes by ${transport}`,
    );
    assert.equal(packet.readUInt16BE(2) & 0x0200, 0x0200, 'truncated, and said');
    assert.ok(written.size <= limit / 12, `${written.size} records by ${transport}`);
  }
});

/** Of one Service. */
const headlessZone = (slices: readonly EndpointSlice[]) =>
  new Zone(
    {
      service: () => headless,
      slices: () => slices,
      namespaceExists: () => true,
      servicesByIP: () => [],
      slicesByAddress: () => slices,
    },
    { clusterDomain: 'cluster.local', ttl: 5 },
  );

test('of a Service with thousands of endpoints and ports no more is read than an answer could carry', () => {
  let read = 0;
  const endpoints = Array.from({ length: 1000 }, (_, i) => ({
    get addresses() {
      read++;
      return [`10.1.${i >> 8}.${i & 255}`];
    },
  }));
  const ports = Array.from({ length: 2000 }, (_, i) => ({ name: `p${i}`, port: i + 1 }));
  const slices = Array.from({ length: 50 }, (): EndpointSlice => ({ ...slice, endpoints, ports }));
  const large = headlessZone(slices);
  for (const [name, type] of [
    ['db.d.svc.cluster.local', 'A'],
    ['db.d.svc.cluster.local', 'SRV'],
    ['_p7._tcp.db.d.svc.cluster.local', 'SRV'],
  ] as const) {
    read = 0;
    const begun: number[] = [];
    const first = (length: number): number => {
      begun.push(length);
      return length - 1;
    };
    const found = large.resolve(name, type, { most: 40, first });
    assert.ok(found.kind === 'answers' && found.answers.length === 40, name);
    assert.ok(read <= 42, `${read} endpoints read for ${name}`);
    assert.deepEqual(begun, [50, 1000], 'another one is first each time');
  }
  const names = large.resolve('0.0.1.10.in-addr.arpa', 'PTR', { most: 5, first: () => 0 });
  assert.equal(names.kind, 'answers');
});

test('thousands of ports of one number are one, whoever asks; and are read once, not for each question', () => {
  const { of } = countReads(50_000);
  const ports = Array.from({ length: 4000 }, (_, i) => of({ name: `p${i}`, port: 8080, protocol: 'TCP' }));
  const endpoints = Array.from({ length: 1000 }, (_, i) => ({ addresses: [`10.244.${i >> 8}.${i & 255}`] }));
  const wide = headlessZone([{ ...slice, ports, endpoints }]);
  const answers = (name: string): number => {
    const found = wide.resolve(`${name}db.d.svc.cluster.local`, 'SRV', { most: 2000, first: () => 0 });
    return found.kind === 'answers' ? found.answers.length : 0;
  };
  for (let question = 0; question < 20; question++) {
    assert.equal(answers(''), 1000);
    assert.equal(answers('_p7._tcp.'), 1000);
    assert.equal(answers('_none._tcp.'), 0);
  }
});

test('hosts of one name and thousands of ports are tried so often as an answer is worth', () => {
  const { of } = countReads(100_000);
  const ports = Array.from({ length: 1000 }, (_, i) => ({ name: `p${i}`, port: i + 1, protocol: 'TCP' }));
  const endpoints = Array.from({ length: 1000 }, (_, i) =>
    of({ hostname: 'one', addresses: [`10.244.${i >> 8}.${i & 255}`] }),
  );
  const wide = headlessZone([{ ...slice, ports, endpoints }]);
  const found = wide.resolve('db.d.svc.cluster.local', 'SRV', { most: 2000, first: () => 0 });
  assert.ok(found.kind === 'answers');
  assert.equal(found.answers.length, 1000);
  assert.ok(found.additionals.length <= 33, `${found.additionals.length} hosts`);
});
