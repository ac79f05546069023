// The status of a policy is written in the end, though storage was away when it was to be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, Scheme } from '../apimachinery/declaration.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import type { ResourceStore } from '../apiserver/registry/store.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { silentLogger } from '../component-base/logger.ts';
import { keepPolicyTypeChecks } from './policy-type-checks.ts';

function kept(isAway: (tries: number) => boolean, list = (all: JsonObject[]): JsonObject[] => all) {
  const clock = new FakeClock(0);
  const policy = { metadata: { name: 'p', uid: 'u', generation: 2 }, spec: {} };
  const all: JsonObject[] = [policy];
  const tried: number[] = [];
  const waiting: (() => void)[] = [];
  const cursor = { next: () => undefined, onEvent() {}, close() {} };
  const store = {
    cache: { currentRevision: () => 1, watch: () => cursor },
    async update(_: string, __: string, make: (current: JsonObject) => JsonObject) {
      tried.push(clock.monotonic());
      for (const go of waiting.splice(0)) go();
      if (isAway(tried.length)) throw new Error('storage is away');
      all[0] = make(policy);
    },
  };
  const end = keepPolicyTypeChecks({
    api: { store: () => store as unknown as ResourceStore },
    live: { list: () => list(all) } as unknown as LiveObjects,
    scheme: {} as Scheme,
    clock,
    log: silentLogger,
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const turn = async (): Promise<void> => {
    const next = new Promise<void>((resolve) => waiting.push(resolve));
    clock.advance(clock.pending > 0 ? 60_000 : 0);
    await next;
    await settled();
  };
  return { clock, all, tried, end, turn, settled };
}

test('a status that could not be written is written later, without anybody writing a policy', async () => {
  const { clock, all, tried, turn } = kept((tries) => tries < 4);
  for (let turns = 0; turns < 4; turns++) await turn();
  assert.equal(tried.length, 4);
  assert.deepEqual(all[0]!['status'], { observedGeneration: 2, typeChecking: {} });
  assert.equal(clock.pending, 0);
});

test('policies that can not be read for a while are looked at when they can be', async () => {
  let looks = 0;
  const list = (all: JsonObject[]): JsonObject[] => {
    if (++looks <= 3) throw new Error('no key opens it');
    return all;
  };
  const { clock, all, settled, turn } = kept(() => false, list);
  await settled();
  assert.deepEqual([looks, clock.pending, all[0]!['status']], [1, 1, undefined]);
  for (let more = 0; more < 2; more++) {
    clock.advance(60_000);
    await settled();
  }
  await turn();
  assert.deepEqual(all[0]!['status'], { observedGeneration: 2, typeChecking: {} });
  assert.equal(clock.pending, 0);
});

test('nothing is tried after the end', async () => {
  const { clock, end, turn } = kept(() => true);
  await turn();
  assert.equal(clock.pending, 1);
  end();
  assert.equal(clock.pending, 0);
});
