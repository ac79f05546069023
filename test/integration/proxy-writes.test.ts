// What a node's proxy writes when: a change as a change, and everything after an error, when somebody took it, and by the clock.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { endpointslices, nodes, services } from '../../src/api/generated/resources.ts';
import type { Node, Service } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { MemoryBackend } from '../../src/proxy/backends/memory/memory-backend.ts';
import { startProxy } from '../../src/proxy/proxier.ts';
import type { RuleChange } from '../../src/proxy/proxy-backend.ts';
import type { ServiceRules } from '../../src/proxy/rule-set.ts';
import { eventually } from '../harness/eventually.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';

const hourMs = 3_600_000;
const service = (name: string, last: number): Service => ({
  metadata: { name, namespace: 'd' },
  spec: { clusterIP: `10.96.0.${last}`, ports: [{ port: 53, protocol: 'UDP' }] },
});

const slice: EndpointSlice = {
  metadata: { name: 'first-1', namespace: 'd', labels: { 'kubernetes.io/service-name': 'first' } },
  addressType: 'IPv4',
  ports: [{ name: '', port: 5353, protocol: 'UDP' }],
  endpoints: [{ addresses: ['10.244.1.2'], conditions: { ready: true } }],
};

/** Remembers what it was asked to do; the next of a kind can be held, or refused. */
class WatchedBackend extends MemoryBackend {
  readonly calls: string[] = [];
  readonly #before = new Map<string, () => Promise<void>>();

  next(call: 'change' | 'replace', before: () => Promise<void>): void {
    this.#before.set(call, before);
  }

  override async change(changes: readonly RuleChange[]): Promise<void> {
    await this.#called('change');
    await super.change(changes);
  }

  override async replace(all: Iterable<ServiceRules>): Promise<void> {
    await this.#called('replace');
    await super.replace(all);
  }

  async #called(call: string): Promise<void> {
    this.calls.push(call);
    const before = this.#before.get(call);
    this.#before.delete(call);
    await before?.();
  }
}

function start(t: TestContext) {
  const clock = new FakeClock();
  const backend = new WatchedBackend({ clusterCIDR: '10.244.0.0/16', addresses: [] });
  const serviceInformer = createMemoryInformer<Service>(services, [service('first', 1)]);
  const informers: Readonly<Record<string, unknown>> = {
    nodes: createMemoryInformer<Node>(nodes, [{ metadata: { name: 'n1' }, spec: {} }]),
    services: serviceInformer,
    endpointslices: createMemoryInformer<EndpointSlice>(endpointslices, [slice]),
  };
  const proxy = startProxy({
    informers: { informer: <T>({ resource }: ResourceRef<T>) => informers[resource] as Informer<T> },
    nodeName: 'n1',
    clusterCIDR: '10.244.0.0/16',
    reservedCIDRs: [],
    backend,
    clock,
    log: silentLogger,
  });
  t.after(() => proxy.stop());
  const names = () => backend.services().map((one) => one.service);
  /** Time goes on until it has done just this. */
  const done = (...calls: string[]) =>
    eventually(() => {
      clock.advance(10);
      assert.deepEqual(backend.calls, calls);
    });
  return { backend, clock, done, names, proxy, services: serviceInformer };
}

test('an hourly resync is not lost in a change that is under way, and comes each hour', async (t) => {
  const { backend, clock, done, names, proxy, services } = start(t);
  await proxy.ready();
  const gate = Promise.withResolvers<void>();
  backend.next('change', () => gate.promise);
  services.put(service('second', 2));
  await done('replace', 'change');
  clock.advance(hourMs);
  assert.deepEqual(backend.calls, ['replace', 'change'], 'one after the other');
  gate.resolve();
  await done('replace', 'change', 'replace');
  assert.deepEqual(names(), ['d/first', 'd/second']);
  clock.advance(hourMs);
  await done('replace', 'change', 'replace', 'replace');
});

test('a change that is refused is written as a whole at once, and again until that is taken', async (t) => {
  const { backend, clock, done, names, proxy, services } = start(t);
  backend.next('replace', () => Promise.reject(new Error('no memory')));
  await done('replace', 'replace');
  await proxy.ready();
  backend.forgotten.splice(0);
  backend.next('change', () => Promise.reject(new Error('not there')));
  backend.next('replace', () => Promise.reject(new Error('no memory')));
  services.remove('first', 'd');
  await done('replace', 'replace', 'change', 'replace');
  services.put(service('second', 2));
  clock.advance(1000);
  await done('replace', 'replace', 'change', 'replace', 'replace');
  assert.deepEqual(names(), ['d/second']);
  const gone = { protocol: 'udp', destination: '10.96.0.1', destinationPort: 53, redirectedTo: '10.244.1.2' };
  assert.deepEqual(backend.forgotten.splice(0), [gone]);
});

test('what somebody took is written anew, and flows that went past it meanwhile end', async (t) => {
  const { backend, names, proxy } = start(t);
  await proxy.ready();
  backend.forgotten.splice(0);
  backend.lose();
  await backend.look();
  assert.deepEqual([backend.calls, names()], [['replace', 'replace'], ['d/first']]);
  const past = { protocol: 'udp', destination: '10.96.0.1', destinationPort: 53 };
  assert.deepEqual(backend.forgotten.splice(0), [past]);
  backend.lose();
  backend.next('replace', () => Promise.reject(new Error('no memory')));
  await assert.rejects(backend.look(), /service rules could not be written/);
});
