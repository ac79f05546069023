// The condition Dangling is written in the end, though the store was away when it was to be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../apimachinery/declaration.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import type { ResourceStore } from '../apiserver/registry/store.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { silentLogger } from '../component-base/logger.ts';
import { keepFlowSchemaConditions } from './flow-schema-conditions.ts';

test('a condition that could not be written is written later, without anybody writing a FlowSchema', async () => {
  const clock = new FakeClock(0);
  const schemas: JsonObject[] = ['a', 'b'].map((name) => ({
    metadata: { name },
    spec: { priorityLevelConfiguration: { name: name === 'a' ? 'there' : 'gone' } },
  }));
  let tries = 0;
  const store = {
    cache: { currentRevision: () => 1, watch: () => ({ next: () => undefined, onEvent() {}, close() {} }) },
    async update(_: string, name: string, make: (current: JsonObject) => JsonObject) {
      if (++tries <= 3) throw new Error('storage is away');
      const at = schemas.findIndex(({ metadata }) => (metadata as { name: string }).name === name);
      schemas[at] = make(schemas[at]!);
    },
  };
  const end = keepFlowSchemaConditions({
    api: { store: () => store as unknown as ResourceStore },
    live: {
      list: () => schemas,
      get: (_: object, name: string) => (name === 'there' ? {} : undefined),
    } as unknown as LiveObjects,
    clock,
    log: silentLogger,
  });
  for (let turns = 0; turns < 3; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(clock.pending > 0 ? 60_000 : 0);
  }
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    schemas.map(({ status }) => {
      const [{ type, status: is, reason } = {}] = (status as { conditions: Record<string, string>[] })
        .conditions;
      return [type, is, reason];
    }),
    [
      ['Dangling', 'False', 'Found'],
      ['Dangling', 'True', 'NotFound'],
    ],
  );
  assert.equal(tries, 5);
  assert.equal(clock.pending, 0);
  end();
});
