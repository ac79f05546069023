// Which servers are looked at, and which no longer: those of APIServices that are gone, and all of them once it is closed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RemoteService } from '../../apiserver/aggregator/remote-service.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { AvailabilityController } from './availability-controller.ts';

const remote = (name: string): RemoteService => ({
  name,
  group: name,
  version: 'v1',
  service: { namespace: 'default', name: 'dead', port: 443 },
  caBundle: '',
  insecure: true,
  groupPriority: 1,
  versionPriority: 1,
  available: false,
});
const many = Array.from({ length: 50 }, (_, i) => remote(`g${i}.example.com`));
const names = new Set(many.map(({ name }) => name));

/** All servers hang until `fail` is called. */
function hanging() {
  const asked = new Set<string>();
  let waiting: ((why: Error) => void)[] = [];
  const cursor = { next: () => undefined, onEvent: () => {}, close: () => {} };
  const store = {
    cache: { currentRevision: () => 1, watch: () => cursor },
    find: () => undefined,
    update: async () => {},
  };
  const controller = new AvailabilityController({
    api: { store: () => store } as unknown as Pick<ApiServer, 'store'>,
    live: { get: () => ({ spec: { type: 'ExternalName' } }) } as unknown as LiveObjects,
    ask: ({ name }) => {
      asked.add(name);
      return new Promise((_, reject) => waiting.push(reject));
    },
    clock: new FakeClock(),
    log: silentLogger,
    lost: () => {},
  });
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  };
  const fail = async (): Promise<void> => {
    await settled();
    const before = waiting;
    waiting = [];
    for (const reject of before) reject(new Error('connection refused'));
    await settled();
  };
  return { controller, asked, fail };
}

test('once it is closed nobody more is asked: those that wait for their turn hold up no stop', async () => {
  const { controller, asked, fail } = hanging();
  controller.set(many, names);
  await fail();
  const before = asked.size;
  assert.ok(before < many.length, `${before}`);
  controller.close();
  for (let i = 0; i < many.length; i++) await fail();
  assert.equal(asked.size, before);
});

test('who is gone before its turn takes none: one that is new is looked at next', async () => {
  const { controller, asked, fail } = hanging();
  controller.set(many, names);
  await fail();
  controller.set([], new Set());
  controller.set([remote('new.example.com')], new Set(['new.example.com']));
  await fail();
  assert.ok(asked.has('new.example.com'), [...asked].join());
  controller.close();
  await fail();
});
