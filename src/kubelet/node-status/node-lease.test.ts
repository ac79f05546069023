// The heartbeat goes on when an answer stays out, and an old lease is renewed at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease } from '../../api/generated/types/coordination-v1.ts';
import { alreadyExists } from '../../apimachinery/errors.ts';
import { rfc3339Micro } from '../../base/clock.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { Client } from '../../client/client.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { startNodeLease } from './node-lease.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function nodeLease() {
  const clock = new FakeClock();
  const server = { lease: undefined as Lease | undefined, silent: false, asked: 0 };
  const answer = <T>(value: () => T): Promise<T> => {
    server.asked += 1;
    return server.silent ? new Promise<T>(() => {}) : Promise.resolve().then(value);
  };
  const client = {
    get: (resource: { kind: string }) =>
      answer(() => (resource.kind === 'Node' ? { metadata: { name: 'n', uid: 'u' } } : server.lease)),
    create: (_: unknown, wanted: Lease) =>
      answer(() => {
        if (server.lease) throw alreadyExists({ group: 'coordination.k8s.io', resource: 'leases' }, 'n');
        server.lease = wanted;
        return wanted;
      }),
    update: (_: unknown, wanted: Lease) =>
      answer(() => {
        server.lease = wanted;
        return wanted;
      }),
  } as unknown as Client;
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let i = 0; i < 20; i++) await turn();
  };
  const start = (): (() => Promise<void>) =>
    startNodeLease({ client, clock, log: silentLogger, nodeName: 'n' });
  /** Seconds since the lease was renewed last. */
  const age = (): number => (clock.now() - Date.parse(server.lease?.spec?.renewTime ?? '')) / 1000;
  return { clock, server, pass, start, age };
}

test('a lease is made, and renewed every 10 s', async (t) => {
  const { server, pass, start, age } = nodeLease();
  t.after(start());
  await pass(0);
  assert.equal(server.lease?.spec?.holderIdentity, 'n');
  for (let i = 0; i < 5; i++) {
    await pass(10_000);
    assert.equal(age(), 0);
  }
});

test('an agent that starts renews the lease that is there at once', async (t) => {
  const { clock, server, pass, start, age } = nodeLease();
  server.lease = {
    metadata: { name: 'n' },
    spec: { holderIdentity: 'n', renewTime: rfc3339Micro(clock.now() - 35_000) },
  } as Lease;
  t.after(start());
  await pass(0);
  assert.equal(age(), 0);
});

test('a request whose answer stays out is given up after 10 s: the lease is renewed a second after', async (t) => {
  const { server, pass, start, age } = nodeLease();
  t.after(start());
  await pass(0);
  server.silent = true;
  await pass(10_000); // asks, and hears nothing
  const asked = server.asked;
  server.silent = false;
  await pass(9_999);
  assert.deepEqual([server.asked, age()], [asked, 19.999]);
  await pass(1);
  await pass(1_000);
  assert.equal(age(), 0);
});

test('each try has its own 10 s for as long as the server is silent', async (t) => {
  const { server, pass, start, age } = nodeLease();
  t.after(start());
  await pass(0);
  server.silent = true;
  await pass(10_000);
  const asked = server.asked;
  for (let i = 1; i <= 5; i++) {
    await pass(10_000);
    await pass(1_000);
    assert.equal(server.asked, asked + i);
  }
  server.silent = false;
  await pass(10_000);
  await pass(1_000);
  assert.equal(age(), 0);
});
