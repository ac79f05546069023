// When the scheduler begins: not before it knows what its plugins ask for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { namespaces, nodes, pods } from '../api/generated/resources.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import { SharedInformer } from '../client/cache/shared-informer.ts';
import type { Client } from '../client/client.ts';
import { silentLogger } from '../component-base/logger.ts';
import { createMetrics } from '../component-base/metrics.ts';
import { startScheduler } from './scheduler.ts';
import { makeNode, makePod } from './testing/builders.ts';

/** From all pods of a team's namespaces. */
const away = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      {
        topologyKey: 'kubernetes.io/hostname',
        labelSelector: {},
        namespaceSelector: { matchLabels: { team: 'x' } },
      },
    ],
  },
};

test('nobody is placed before the labels of namespaces are known, whatever comes first', async (t) => {
  const informers = new Map<unknown, SharedInformer<unknown>>();
  const informer = <T>(resource: ResourceRef<T>): SharedInformer<T> => {
    const known = informers.get(resource) ?? new SharedInformer(resource, silentLogger);
    informers.set(resource, known as SharedInformer<unknown>);
    return known as SharedInformer<T>;
  };
  const bound: string[] = [];
  let tries = 0;
  const { promise: isBound, resolve } = Promise.withResolvers<void>();
  const client = {
    createSubresource: async (_pods: unknown, _name: unknown, _binding: unknown, body: object) => {
      bound.push((body as { target: { name: string } }).target.name);
      resolve();
    },
  };
  const scheduler = startScheduler({
    client: client as unknown as Client,
    informers: { informer } as unknown as InformerFactory,
    events: { event: () => {}, flush: async () => {} },
    clock: new FakeClock(),
    random: { uint: () => 0, fraction: () => 0.5, uuid: () => 'u' },
    log: silentLogger,
    metrics: createMetrics(),
    extraPlugins: [{ name: 'Counting', preFilter: () => void tries++ }],
  });
  t.after(() => scheduler.stop());

  informer(nodes).replace([makeNode('taken'), makeNode('free')]);
  const theirs = makePod('theirs', { node: 'taken' });
  const inFar = { ...theirs, metadata: { ...theirs.metadata, namespace: 'far' } };
  informer(pods).replace([inFar, makePod('ours', { spec: { affinity: away } })]);
  for (let i = 0; i < 3; i++) await turn();
  assert.equal(tries, 0);
  informer(namespaces).replace([
    { metadata: { name: 'far', labels: { team: 'x' } } },
    { metadata: { name: 'default' } },
  ] as never);
  await isBound;
  assert.deepEqual(bound, ['free']);
});
