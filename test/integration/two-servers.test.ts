// Two API servers over one store, each with a cache that hears of the other's writes late: nothing is given twice, and
// an old cache refuses nothing.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Clock } from '../../src/base/clock.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import { FailingStorage } from '../../src/storage/testing/failing-storage.ts';
import { LaggingStorage } from '../../src/storage/testing/lagging-storage.ts';

interface TwoServers {
  readonly planes: readonly [TestControlPlane, TestControlPlane];
  /** The second one's way to the store. */
  readonly way: LaggingStorage;
  readonly store: MemoryStorage;
}

/** The real time, which can be made to pass. */
class SteppedClock implements Clock {
  passed = 0;
  readonly timer = systemClock.timer;
  readonly sleep = systemClock.sleep;
  now(): number {
    return systemClock.now() + this.passed;
  }
  monotonic(): number {
    return systemClock.monotonic() + this.passed;
  }
}

async function twoServers(options: { serviceCidr?: string; clock?: Clock } = {}): Promise<TwoServers> {
  const store = new MemoryStorage(systemClock);
  const first = await startTestControlPlane({ ...options, storage: new LaggingStorage(store) });
  const way = new LaggingStorage(store);
  const second = await startTestControlPlane({ ...options, storage: way, pki: first.pki });
  after(async () => {
    await second.close();
    await first.close();
  });
  return { planes: [first, second], way, store };
}

const services = '/api/v1/namespaces/default/services';
const service = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
interface Spec {
  clusterIP: string;
  ports: { nodePort: number }[];
}
const specOf = (answer: { body: Record<string, unknown> }): Spec => answer.body.spec as Spec;

test('Services that are created through both get addresses and ports of their own', async () => {
  const { planes } = await twoServers();
  const made = await Promise.all(
    planes.flatMap(({ ask }, p) =>
      Array.from({ length: 60 }, (_, i) =>
        ask('POST', services, service(`s${p}-${i}`, { type: 'NodePort' })),
      ),
    ),
  );
  for (const answer of made) assert.equal(answer.status, 201, answer.text);
  assert.equal(new Set(made.map((answer) => specOf(answer).clusterIP)).size, 120);
  assert.equal(new Set(made.map((answer) => specOf(answer).ports[0]!.nodePort)).size, 120);
});

test('the last addresses of a range go to as many Services as there are addresses', async () => {
  // 30 addresses, of which the Service kubernetes has one.
  const { planes } = await twoServers({ serviceCidr: '10.96.0.0/27' });
  const asked = await Promise.all(
    planes.flatMap(({ ask }, p) =>
      Array.from({ length: 25 }, (_, i) => ask('POST', services, service(`s${p}-${i}`))),
    ),
  );
  const made = asked.filter(({ status }) => status === 201);
  assert.equal(made.length, 29);
  assert.equal(new Set(made.map((answer) => specOf(answer).clusterIP)).size, 29);
  const full = asked.find(({ status }) => status !== 201);
  assert.equal(full?.status, 500);
  assert.equal(full.message, 'Internal error occurred: failed to allocate a serviceIP: range is full');
});

test('of two that name one address, or one port, one gets it; what it was refused for is free again', async () => {
  const { planes } = await twoServers();
  const clusterIP = '10.96.3.3';
  const both = await Promise.all(
    planes.map(({ ask }, p) => ask('POST', services, service(`ip${p}`, { clusterIP, type: 'NodePort' }))),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 422]);
  assert.match(both.find(({ status }) => status === 422)!.message, /provided IP is already allocated$/);
  const ports = [{ port: 80, nodePort: 30_700 }];
  const sameText = await Promise.all(
    planes.map(({ ask }, p) => ask('POST', services, service(`port${p}`, { type: 'NodePort', ports }))),
  );
  assert.deepEqual(sameText.map(({ status }) => status).sort(), [201, 422]);
  const refused = sameText.find(({ status }) => status === 422)!;
  assert.match(refused.message, /nodePort: Invalid value: 30700: provided port is already allocated$/);
  // Addresses that were taken for a Service which then was refused are nobody's.
  const records = await planes[0].ask('GET', '/apis/networking.k8s.io/v1/ipaddresses');
  const { items } = records.body as { items: { spec: { parentRef: { name: string } } }[] };
  assert.equal(items.length, 3, JSON.stringify(items));
});

test('what was deleted through one is given through the other at once', async () => {
  const {
    planes: [first, second],
  } = await twoServers();
  const spec = { clusterIP: '10.96.4.4', type: 'NodePort', ports: [{ port: 80, nodePort: 30_800 }] };
  for (let round = 0; round < 3; round++)
    for (const [maker, remover] of [
      [first, second],
      [second, first],
    ] as const) {
      const made = await maker.ask('POST', services, service('a', spec));
      assert.equal(made.status, 201, made.text);
      const gone = await remover.ask('DELETE', `${services}/a`);
      assert.equal(gone.status, 200, gone.text);
    }
});

test('an old cache refuses nothing: updates by revision, patches and preconditions go by the store', async () => {
  const {
    planes: [first, second],
    way,
  } = await twoServers();
  const url = '/api/v1/namespaces/default/configmaps';
  const made = await first.ask('POST', url, { metadata: { name: 'a' }, data: { from: 'first' } });
  const known = made.body as { metadata: { resourceVersion: string; uid: string } };
  const put = await second.ask('PUT', `${url}/a`, { ...known, data: { from: 'second' } });
  assert.equal(put.status, 200, put.text);
  // From now on the second hears of nothing, until it has to.
  way.hold();
  const again = await first.ask('PUT', `${url}/a`, { ...(put.body as object), data: { from: 'first' } });
  assert.equal(again.status, 200, again.text);
  const revision = way.revision.bind(way);
  way.revision = () => {
    way.release();
    return revision();
  };
  const third = await second.ask('PUT', `${url}/a`, { ...(again.body as object), data: { from: 'second' } });
  assert.equal(third.status, 200, third.text);
  const newest = (third.body as typeof known).metadata.resourceVersion;
  const old = await second.ask('PUT', `${url}/a`, known);
  assert.equal(old.status, 409, old.text);
  assert.equal(
    old.message,
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  );
  const removed = await second.ask('DELETE', `${url}/a`, { preconditions: { resourceVersion: newest } });
  assert.equal(removed.status, 200, removed.text);
});

test('patches through both are all kept', async () => {
  const { planes } = await twoServers();
  const url = '/api/v1/namespaces/default/configmaps';
  await planes[0].ask('POST', url, { metadata: { name: 'a' } });
  const answers = await Promise.all(
    planes.flatMap(({ ask }, p) =>
      Array.from({ length: 6 }, (_, i) => ask('PATCH', `${url}/a`, { data: { [`k${p}-${i}`]: 'v' } })),
    ),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  );
  const all = await planes[0].ask('GET', `${url}/a`);
  assert.equal(Object.keys(all.body.data as object).length, 12);
});

const statusOf = (answer: { body: Record<string, unknown> }): { used: Record<string, string> } =>
  answer.body.status as { used: Record<string, string> };

test('a quota lets in as much as it says, whichever server is asked', async () => {
  const { planes } = await twoServers();
  const [first, second] = planes;
  await first.ask('POST', '/api/v1/namespaces', { metadata: { name: 'q' } });
  const api = '/api/v1/namespaces/q';
  const hard = { configmaps: '15', 'count/secrets': '100' };
  await first.ask('POST', `${api}/resourcequotas`, { metadata: { name: 'all' }, spec: { hard } });
  // The second knows of it.
  assert.equal((await second.ask('GET', `${api}/resourcequotas/all`)).status, 200);
  for (let round = 0; round < 3; round++) {
    const made = await Promise.all(
      planes.flatMap(({ ask }, p) =>
        Array.from({ length: 20 }, (_, i) =>
          ask('POST', `${api}/configmaps`, { metadata: { name: `c${round}-${p}-${i}` } }),
        ),
      ),
    );
    assert.equal(made.filter(({ status }) => status === 201).length, round === 0 ? 15 : 2, made[0]!.text);
    const refused = made.find(({ status }) => status !== 201);
    assert.equal(refused?.status, 403);
    assert.match(
      refused.message,
      /is forbidden: exceeded quota: all, requested: configmaps=1, used: configmaps=15, limited: configmaps=15$/,
    );
    const { items } = (await second.ask('GET', `${api}/configmaps`)).body as {
      items: { metadata: { name: string } }[];
    };
    assert.equal(items.length, 15);
    assert.equal(statusOf(await first.ask('GET', `${api}/resourcequotas/all`)).used['configmaps'], '15');
    // What is deleted, by either, is free again for both.
    for (const [i, { ask }] of planes.entries())
      assert.equal((await ask('DELETE', `${api}/configmaps/${items[i]?.metadata.name}`)).status, 200);
  }
});

test('what was let through and not stored takes no room for long, and what a dead server let through is forgotten', async () => {
  const clock = new SteppedClock();
  const { planes, store } = await twoServers({ clock });
  const [first, second] = planes;
  await first.ask('POST', '/api/v1/namespaces', { metadata: { name: 'q' } });
  const api = '/api/v1/namespaces/q';
  await first.ask('POST', `${api}/resourcequotas`, {
    metadata: { name: 'all' },
    spec: { hard: { configmaps: '1' } },
  });
  const make = (plane: TestControlPlane, name: string) =>
    plane.ask('POST', `${api}/configmaps`, { metadata: { name } });
  assert.equal((await make(first, 'a')).status, 201);
  // As a server leaves it that ends between the reservation and the write.
  const key = '/registry/reservations/resourcequotas/q';
  const left = await store.get(key);
  const text = left!.value.toString().replace('"name":"a"', '"name":"never"');
  assert.notEqual(text, left!.value.toString());
  await store.update(key, { bytes: Buffer.from(text), revisionAt: -1 }, left!.revision);
  await first.ask('DELETE', `${api}/configmaps/a`);
  assert.equal((await make(second, 'b')).status, 403);
  clock.passed += 31_000;
  assert.equal((await make(second, 'b')).status, 201);
});

test('a quota lets in as much as it says when what is there grows, whichever server is asked', async () => {
  const { planes } = await twoServers();
  const [first, second] = planes;
  await first.ask('POST', '/api/v1/namespaces', { metadata: { name: 'g' } });
  const api = '/api/v1/namespaces/g';
  const hard = { services: '20', 'services.nodeports': '3' };
  await first.ask('POST', `${api}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
  for (let i = 0; i < 10; i++)
    assert.equal((await first.ask('POST', `${api}/services`, service(`s${i}`))).status, 201);
  assert.equal((await second.ask('GET', `${api}/services/s9`)).status, 200);
  for (let round = 0; round < 2; round++) {
    const grown = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        planes[i % 2]!.ask('PATCH', `${api}/services/s${i}`, { spec: { type: 'NodePort' } }),
      ),
    );
    const { items } = (await second.ask('GET', `${api}/services`)).body as {
      items: { metadata: { name: string }; spec: { type: string } }[];
    };
    const big = items.filter(({ spec }) => spec.type === 'NodePort');
    assert.equal(big.length, 3, JSON.stringify(grown.map(({ message }) => message)));
    const refused = grown.find(({ status }) => status !== 200);
    assert.equal(refused?.status, 403);
    assert.match(
      refused.message,
      /^services "s\d" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=3, limited: services.nodeports=3$/,
    );
    assert.equal(statusOf(await first.ask('GET', `${api}/resourcequotas/q`)).used['services.nodeports'], '3');
    // What shrinks is let through though nothing is left, and frees what it had.
    for (const { metadata } of big)
      assert.equal(
        (await first.ask('PATCH', `${api}/services/${metadata.name}`, { spec: { type: 'ClusterIP' } }))
          .status,
        200,
      );
  }
});

test('of a Service whose answer was lost the address and port stay its own', async () => {
  const store = new FailingStorage(new MemoryStorage(systemClock));
  const plane = await startTestControlPlane({ storage: store });
  after(() => plane.close());
  const of = '/registry/core/services/';
  const ports = [{ port: 80, nodePort: 30_900 }];
  const spec = { clusterIP: '10.96.5.5', type: 'NodePort', ports };
  store.loseAnswer('stored', of);
  assert.equal((await plane.ask('POST', services, service('a', spec))).status, 504);
  assert.deepEqual(specOf(await plane.ask('GET', `${services}/a`)).clusterIP, '10.96.5.5');
  const same = await plane.ask('POST', services, service('b', { clusterIP: '10.96.5.5' }));
  assert.match(same.message, /provided IP is already allocated$/);
  await plane.ask('POST', services, {
    metadata: { name: 'c' },
    spec: { type: 'ExternalName', externalName: 'x.y' },
  });
  store.loseAnswer('stored', of);
  const real = { type: 'NodePort', externalName: null, ports: [{ port: 80, nodePort: 30_901 }] };
  assert.equal((await plane.ask('PATCH', `${services}/c`, { spec: real })).status, 504);
  assert.equal(specOf(await plane.ask('GET', `${services}/c`)).ports[0]?.nodePort, 30_901);
  for (const nodePort of [30_900, 30_901]) {
    const taken = { type: 'NodePort', ports: [{ port: 80, nodePort }] };
    const refused = await plane.ask('POST', services, service('d', taken));
    assert.match(refused.message, /provided port is already allocated$/);
  }
  // What surely is not stored gives back what it took.
  const invalid = { clusterIP: '10.96.5.6', ports: [{ port: 0 }] };
  assert.equal((await plane.ask('POST', services, service('e', invalid))).status, 422);
  assert.equal((await plane.ask('POST', services, service('f', { clusterIP: '10.96.5.6' }))).status, 201);
});

test('what may have been stored, for all that is known, takes room until it is seen or forgotten', async () => {
  const clock = new SteppedClock();
  const store = new FailingStorage(new MemoryStorage(systemClock));
  const plane = await startTestControlPlane({ storage: store, clock });
  after(() => plane.close());
  await plane.ask('POST', '/api/v1/namespaces', { metadata: { name: 'q' } });
  const api = '/api/v1/namespaces/q';
  const hard = { configmaps: '1' };
  await plane.ask('POST', `${api}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
  const make = async (name: string): Promise<number> =>
    (await plane.ask('POST', `${api}/configmaps`, { metadata: { name } })).status;
  store.loseAnswer('not stored', '/registry/core/configmaps/');
  assert.equal(await make('a'), 504);
  assert.equal(await make('b'), 403);
  clock.passed += 31_000;
  assert.equal(await make('b'), 201);
});
