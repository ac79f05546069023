// What DNS keeps in a file: written after changes, not too often, served until the server is back, and not believed when damaged.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { decode, encode } from 'dns-packet';
import { endpointslices, namespaces, services } from '../../src/api/generated/resources.ts';
import type { Namespace, Service } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { sha256Running } from '../../src/component-base/content-hash.ts';
import type { Logger } from '../../src/component-base/logger.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { createDnsHandler } from '../../src/network/dns/dns-server.ts';
import { keepRecords } from '../../src/network/dns/kept-records.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { eventually } from '../harness/eventually.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const service = (name: string, clusterIP: string): Service => ({
  metadata: { name, namespace: 'd', annotations: { long: 'x'.repeat(1000) } },
  spec: { clusterIP, ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
});
const slice: EndpointSlice = {
  metadata: { name: 'db-1', namespace: 'd', labels: { 'kubernetes.io/service-name': 'db', other: 'x' } },
  addressType: 'IPv4',
  ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }],
  endpoints: [
    { addresses: ['10.244.1.2'], hostname: 'db-0', conditions: { ready: true } },
    { addresses: ['10.244.1.3'], conditions: { ready: false } },
  ],
};

/** One life of an agent; `synced`: it has reached the server. */
function life(file: string, isSynced: boolean, web = '10.96.0.20') {
  const clock = new FakeClock();
  let synced = isSynced;
  const web1 = createMemoryInformer<Service>(
    services,
    isSynced ? [service('web', web), service('db', 'None')] : [],
  );
  const all = [
    web1,
    createMemoryInformer<EndpointSlice>(endpointslices, isSynced ? [slice] : []),
    createMemoryInformer<Namespace>(namespaces, isSynced ? [{ metadata: { name: 'd' }, spec: {} }] : []),
  ];
  const informers = {
    informer: <T>(resource: ResourceRef<T>): Informer<T> => {
      const found = all.find((one) => one.resource.resource === resource.resource) as unknown as Informer<T>;
      return { ...found, hasSynced: () => synced };
    },
  };
  const said: string[] = [];
  const log = { ...silentLogger, warn: (_: object, text: string) => said.push(text) } as unknown as Logger;
  const kept = keepRecords({ file, files: linuxFiles, informers, clock, log });
  return {
    clock,
    kept,
    said,
    put: (object: Service) => web1.put(object),
    serverIsBack: () => {
      synced = true;
    },
    answers: async () => {
      const known = await kept.read();
      const handle = createDnsHandler({
        informers,
        lastKnown: () => known,
        upstreams: () => [],
        clock,
        random: systemRandom,
        log: silentLogger,
      });
      return async (name: string, type: 'A' | 'PTR' = 'A'): Promise<unknown> => {
        const question = encode({ type: 'query', id: 1, questions: [{ name, type }] });
        const answer = decode((await handle(question, 'udp', '10.244.0.2'))!);
        const code = (answer as unknown as { rcode: string }).rcode;
        return code === 'NOERROR' ? answer.answers!.map((one) => ('data' in one ? one.data : '')) : code;
      };
    },
  };
}

function folder(t: TestContext): string {
  const scratch = scratchDirectory('dns');
  t.after(() => scratch.remove());
  return join(scratch.path, 'dns-records');
}

async function writtenOnce(file: string): Promise<void> {
  const first = life(file, true);
  first.clock.advance(1000);
  await eventually(() => statSync(file), { everyMs: 5 });
  await first.kept.stop();
}

test('an agent that starts while the server is away serves what the one before it knew, until the server is back', async (t) => {
  const file = folder(t);
  await writtenOnce(file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(statSync(file).size < 1500, 'only what DNS asks for');
  const second = life(file, false);
  const ask = await second.answers();
  assert.deepEqual(await ask('web.d.svc.cluster.local'), ['10.96.0.20']);
  assert.deepEqual(await ask('db.d.svc.cluster.local'), ['10.244.1.2']);
  assert.deepEqual(await ask('db-0.db.d.svc.cluster.local'), ['10.244.1.2']);
  assert.deepEqual(await ask('20.0.96.10.in-addr.arpa', 'PTR'), ['web.d.svc.cluster.local']);
  assert.deepEqual(await ask('10-1-2-3.d.pod.cluster.local'), ['10.1.2.3']);
  assert.equal(await ask('none.d.svc.cluster.local'), 'NXDOMAIN');
  second.clock.advance(60_000);
  await second.kept.stop();
  assert.match(readFileSync(file, 'utf8'), /10\.96\.0\.20/, 'what is not known yet is not written');
  second.put(service('new', '10.96.0.30'));
  second.serverIsBack();
  assert.deepEqual(await ask('new.d.svc.cluster.local'), ['10.96.0.30']);
  assert.equal(await ask('web.d.svc.cluster.local'), 'NXDOMAIN', 'the server says what is there now');
});

test('it is written a second after a change, not twice in ten, and when the agent ends', async (t) => {
  const file = folder(t);
  const { clock, kept, put } = life(file, true);
  clock.advance(999);
  assert.equal(statSync(file, { throwIfNoEntry: false }), undefined);
  clock.advance(1);
  await eventually(() => statSync(file), { everyMs: 5 });
  const has = (ip: string): boolean => readFileSync(file, 'utf8').includes(ip);
  put(service('web', '10.96.0.21'));
  clock.advance(9_999);
  assert.ok(!has('10.96.0.21'));
  clock.advance(1);
  await eventually(() => assert.ok(has('10.96.0.21')), { everyMs: 5 });
  put(service('web', '10.96.0.22'));
  await kept.stop();
  assert.ok(has('10.96.0.22'));
  assert.equal(clock.pending, 0);
});

test('what is known in part is not written, also when the agent ends; what DNS would say again is not written again', async (t) => {
  const file = folder(t);
  await writtenOnce(file);
  const away = life(file, false);
  away.put(service('other', '10.96.0.31'));
  away.clock.advance(60_000);
  await away.kept.stop();
  assert.doesNotMatch(readFileSync(file, 'utf8'), /10\.96\.0\.31/);
  const back = life(file, true);
  await back.kept.read();
  const { ino } = statSync(file);
  back.clock.advance(1000);
  back.put({
    ...service('web', '10.96.0.20'),
    metadata: { name: 'web', namespace: 'd', labels: { a: 'b' } },
  });
  await back.kept.stop();
  assert.equal(statSync(file).ino, ino);
});

test('a damaged file is not believed, and said; without one nothing is said', async (t) => {
  const file = folder(t);
  const nothing = life(file, false);
  assert.equal(await (await nothing.answers())('web.d.svc.cluster.local'), 'SERVFAIL');
  assert.deepEqual(nothing.said, []);
  await writtenOnce(file);
  const good = readFileSync(file);
  const flipped = (at: number): Buffer => {
    const bytes = Buffer.from(good);
    bytes[at] = bytes[at]! ^ 1;
    return bytes;
  };
  const signed = (text: string): string => {
    const sum = sha256Running();
    sum.update(Buffer.from(text));
    return `porthole-dns 1 ${sum.hex()}\n${text}`;
  };
  const bad: readonly (string | Buffer)[] = [
    '',
    '\n',
    good.subarray(0, good.length - 1),
    good.subarray(0, 40),
    Buffer.alloc(5000),
    ...[0, 20, 90, good.length - 3].map(flipped),
    // As good as any, but for its sum.
    good.toString().replace('10.96.0.20', '10.96.0.99'),
    ...[
      '{}',
      '[]',
      'null',
      '{"services":[],"slices":[],"namespaces":7}',
      '{"services":[{}],"slices":[],"namespaces":[]}',
    ].map(signed),
    signed('{"services":[{"metadata":{"name":"a"},"spec":{"clusterIPs":"x"}}],"slices":[],"namespaces":[]}'),
    signed('{"services":[],"slices":[{"metadata":{"name":"a"},"endpoints":[{}]}],"namespaces":[]}'),
    signed('['.repeat(100_000)),
  ];
  for (const [i, bytes] of bad.entries()) {
    writeFileSync(file, bytes);
    const next = life(file, false);
    assert.equal(await (await next.answers())('web.d.svc.cluster.local'), 'SERVFAIL', `file ${i}`);
    assert.equal(next.said.length, 1, `file ${i}`);
  }
  rmSync(file);
  mkdirSync(file);
  const folderThere = life(file, false);
  assert.equal(await (await folderThere.answers())('web.d.svc.cluster.local'), 'SERVFAIL');
  assert.equal(folderThere.said.length, 1);
});
