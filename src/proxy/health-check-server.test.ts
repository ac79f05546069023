// The health check port of a Service whose policy is Local.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import type { Service } from '../api/generated/types/core-v1.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { atOnce } from '../base/turns.ts';
import { silentLogger } from '../component-base/logger.ts';
import type { HttpResponse } from '../wire/http-message.ts';
import { desiredRules } from './desired-rules.ts';
import { createHealthChecks } from './health-check-server.ts';

const rulesNow = (...of: Parameters<typeof desiredRules>) => atOnce(desiredRules(...of));

const service = (healthCheckNodePort: number, externalTrafficPolicy = 'Local'): Service => ({
  metadata: { name: 'web', namespace: 'd' },
  spec: {
    type: 'LoadBalancer',
    clusterIP: '10.96.0.1',
    externalTrafficPolicy,
    healthCheckNodePort,
    ports: [{ port: 80, nodePort: 30080 }],
  },
});
const rules = (one: Service, ...nodes: string[]) =>
  rulesNow(
    one,
    [
      {
        metadata: { name: 'web-1' },
        addressType: 'IPv4',
        ports: [{ name: '', port: 80, protocol: 'TCP' }],
        endpoints: nodes.map((nodeName, i) => ({ addresses: [`10.244.1.${i + 2}`], nodeName })),
      },
    ],
    { name: 'n1', zone: undefined, reserved: [] },
  );

test('the port is open while the policy is Local, tells pods of this node, moves and closes with the service', async () => {
  const open = new Map<number, () => HttpResponse>();
  const checks = createHealthChecks({ log: silentLogger, clock: new FakeClock() }, async (port, answer) => {
    open.set(port, answer);
    return {
      close: async () => {
        open.delete(port);
      },
    };
  });
  const settled = (): Promise<void> => new Promise((done) => setImmediate(done));
  checks.set('d/web', service(31000), rules(service(31000), 'n1', 'n1', 'n2'));
  await settled();
  const answer = open.get(31000)!();
  assert.equal(answer.status, 200);
  assert.deepEqual(JSON.parse(String(answer.body)), {
    service: { namespace: 'd', name: 'web' },
    localEndpoints: 2,
    serviceProxyHealthy: true,
  });
  checks.set('d/web', service(31000), rules(service(31000), 'n2'));
  assert.equal(open.get(31000)!().status, 503);
  checks.set('d/web', service(31001), rules(service(31001), 'n1'));
  await settled();
  assert.deepEqual([...open.keys()], [31001]);
  checks.set('d/web', service(31001, 'Cluster'), undefined);
  await settled();
  assert.deepEqual([...open.keys()], []);
  checks.set('d/web', service(31002), undefined);
  await checks.stop();
  assert.deepEqual([...open.keys()], []);
});

test('a port that somebody else has is tried again until it is free, or not wanted any more', async () => {
  const clock = new FakeClock();
  const asked: number[] = [];
  const open = new Map<number, () => HttpResponse>();
  let isFree = false;
  const checks = createHealthChecks({ log: silentLogger, clock }, async (port, answer) => {
    asked.push(port);
    if (!isFree) throw new Error('listen EADDRINUSE');
    open.set(port, answer);
    return { close: async () => void open.delete(port) };
  });
  const settled = (): Promise<void> => new Promise((done) => setImmediate(done));
  const later = async (): Promise<void> => {
    await settled();
    clock.advance(30_000);
    await settled();
  };
  checks.set('d/web', service(31000), rules(service(31000), 'n2'));
  await later();
  assert.deepEqual(asked, [31000, 31000]);
  checks.set('d/web', service(31000), rules(service(31000), 'n1'));
  isFree = true;
  await later();
  assert.equal(open.get(31000)!().status, 200);
  assert.equal(clock.pending, 0);

  isFree = false;
  checks.set('d/web', service(31001), rules(service(31001), 'n1'));
  await settled();
  assert.equal(clock.pending, 1);
  checks.set('d/web', service(31001, 'Cluster'), undefined);
  assert.equal(clock.pending, 0);
  checks.set('d/web', service(31002), undefined);
  await checks.stop();
  assert.equal(clock.pending, 0);
  assert.deepEqual([...open.keys()], []);
});

test('the real listener refuses a port that is taken, and serves it when it is free', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const clock = new FakeClock();
  const refused = Promise.withResolvers<object>();
  const log = { ...silentLogger, warn: (fields: object) => refused.resolve(fields) };
  const checks = createHealthChecks({ log, clock });
  t.after(() => checks.stop());
  checks.set('d/web', service(port), rules(service(port), 'n1'));
  const { error } = (await refused.promise) as { error: NodeJS.ErrnoException };
  assert.equal(error.code, 'EADDRINUSE');
  await new Promise((done) => taken.close(done));
  await t.waitFor(
    async () => {
      clock.advance(30_000);
      assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 200);
    },
    { timeout: 30_000 },
  );
});
