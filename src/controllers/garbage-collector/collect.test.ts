// How an object with very many owners is judged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configmaps, pods } from '../../api/generated/resources.ts';
import { notFound } from '../../apimachinery/errors.ts';
import { Turns } from '../../base/turns.ts';
import type { Client } from '../../client/client.ts';
import { type Collector, collect } from './collect.ts';
import { OwnershipGraph } from './ownership-graph.ts';

const count = 5_000;
const metadata = {
  name: 'claimed',
  namespace: 'default',
  uid: 'claimed-uid',
  resourceVersion: '7',
  ownerReferences: Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    name: `absent-${i}`,
    uid: `uid-${i}`,
  })),
};

test('thousands of absent owners are asked for one after the other and in turns, then the object goes', async () => {
  let now = 0;
  let turnsTaken = 0;
  let asking = 0;
  let most = 0;
  const deleted: string[] = [];
  const client = {
    async get(resource: { readonly resource: string }, { name }: { readonly name: string }) {
      if (resource.resource === 'configmaps') return { metadata };
      asking++;
      most = Math.max(most, asking);
      now++;
      await Promise.resolve();
      asking--;
      throw notFound(pods, name);
    },
    async delete(_: unknown, { name }: { readonly name: string }) {
      deleted.push(name);
    },
  } as unknown as Client;
  const graph = new OwnershipGraph(() => pods);
  graph.set(configmaps, metadata);
  const collector: Collector = {
    client,
    resourceOf: () => pods,
    turns: new Turns((run) => {
      turnsTaken++;
      setImmediate(run);
    }),
    now: () => now,
    enqueue: () => {},
    forget: () => {},
    nodeOf: (uid) => graph.node(uid),
  };
  await collect(collector, graph.node('claimed-uid')!);
  assert.deepEqual(deleted, ['claimed']);
  assert.equal(most, 1);
  assert.ok(turnsTaken >= count / 10, `${turnsTaken} turns`);
});
