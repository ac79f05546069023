// What Services hold after each of a list of steps: written, refused, undone, deleted; with the records of it in a store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceSpec } from '../../api/generated/types/core-v1.ts';
import { createScheme } from '../../api/scheme.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Undo, WriteHooks } from '../../apiserver/registry/write-hooks.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import { createCacheSource } from '../../storage/watch/cache-source.ts';
import { createServiceHooks } from './service-allocation.ts';
import { serviceClaims } from './service-claims.ts';

interface World {
  readonly hooks: WriteHooks;
  /** `10.0.0.1 of a`, ports after addresses. */
  held(): string[];
}

/** Six addresses and three ports, so that any is soon a certain one. */
async function world(): Promise<World> {
  const clock = new FakeClock();
  const caches = await createCacheSource(new MemoryStorage(clock), clock);
  const claims = serviceClaims({ scheme: createScheme(), caches, clock, random: systemRandom });
  const cidr = { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.0.0.0/29'] } };
  const live = { list: () => [cidr] } as unknown as LiveObjects;
  const portRange = { first: 30_000, last: 30_002 };
  const hooks = createServiceHooks({ live, random: systemRandom, log: silentLogger, portRange, ...claims });
  return {
    hooks,
    held: () =>
      [claims.addresses, claims.ports].flatMap((some) =>
        some.all().map(({ name, owner }) => `${name} of ${owner?.name}`),
      ),
  };
}

const service = (name: string, spec: ServiceSpec): JsonObject =>
  ({
    metadata: { namespace: 'n', name },
    spec: { type: 'ClusterIP', ports: [], ...spec },
  }) as unknown as JsonObject;
const wet = { context: undefined, dryRun: false };

const create = (hooks: WriteHooks, object: JsonObject, dryRun = false): Promise<Undo | undefined> =>
  hooks.beforeCreate!(object, { ...wet, dryRun });
async function update(hooks: WriteHooks, object: JsonObject, old: JsonObject): Promise<void> {
  await hooks.beforeUpdate!(object, old, wet);
  await hooks.afterUpdate!(object, old);
}

const first = { clusterIP: '10.0.0.1' };
const portOne = [{ port: 80, nodePort: 30_001 }];

test('a creation takes what is named, and gives all of it back when the write fails', async () => {
  const { hooks, held } = await world();
  const undo = await create(hooks, service('a', { ...first, type: 'NodePort', ports: portOne }));
  assert.deepEqual(held(), ['10.0.0.1 of a', '30001 of a']);
  await undo?.();
  assert.deepEqual(held(), []);
});

test('what a dry run shows it does not take; what is taken it refuses, too', async () => {
  const { hooks, held } = await world();
  const dry = service('a', { type: 'NodePort', ports: [{ port: 80 }] });
  await create(hooks, dry, true);
  const { clusterIP, ports } = dry['spec'] as unknown as { clusterIP: string; ports: { nodePort: number }[] };
  assert.match(clusterIP, /^10\.0\.0\.[1-6]$/);
  assert.ok(ports[0]!.nodePort >= 30_000);
  assert.deepEqual(held(), []);
  await create(hooks, service('b', first));
  await assert.rejects(create(hooks, service('c', first), true), /provided IP is already allocated/);
});

const refusals: readonly (readonly [name: string, spec: ServiceSpec, message: string])[] = [
  [
    'an address of another',
    first,
    'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: provided IP is already allocated',
  ],
  [
    'an address beyond all ranges',
    { clusterIP: '10.0.0.8' },
    'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.8"]: failed to allocate IP 10.0.0.8: the provided network does not match the current range',
  ],
  [
    'a port of another',
    { type: 'NodePort', ports: portOne },
    'Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated',
  ],
  [
    'a port beyond the range',
    { type: 'NodePort', ports: [{ port: 80 }, { port: 81, nodePort: 80 }] },
    'Service "b" is invalid: spec.ports[1].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-30002',
  ],
  [
    "a health check's port of another",
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_001 },
    'Internal error occurred: failed to allocate requested HealthCheck NodePort 30001: provided port is already allocated',
  ],
  [
    'more ports than there are',
    { type: 'NodePort', ports: [{ port: 80 }, { port: 81 }, { port: 82 }] },
    'Internal error occurred: failed to allocate a nodePort: range is full',
  ],
];

for (const [name, spec, message] of refusals)
  test(`${name} is refused in upstream's words, and nothing stays taken`, async () => {
    const { hooks, held } = await world();
    await create(hooks, service('a', { ...first, type: 'NodePort', ports: portOne }));
    const before = held();
    await assert.rejects(create(hooks, service('b', spec)), { message });
    assert.deepEqual(held(), before);
  });

const ip = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const malformed: readonly (readonly [spec: ServiceSpec, errors: string])[] = [
  [{ clusterIP: 'foo' }, `spec.clusterIPs[0]: Invalid value: "foo": ${ip}`],
  [{ clusterIP: '10.0.0.01' }, 'spec.clusterIPs[0]: Invalid value: "10.0.0.01": must not have leading 0s'],
  [
    { clusterIPs: ['10.0.0.5'] },
    'spec.clusterIPs: Invalid value: ["10.0.0.5"]: must be empty when `clusterIP` is not specified',
  ],
  [
    { clusterIP: '10.0.0.5', clusterIPs: ['10.0.0.6'] },
    'spec.clusterIPs: Invalid value: ["10.0.0.6"]: first value must match `clusterIP`',
  ],
  [
    { clusterIP: 'None', clusterIPs: ['None', '10.0.0.5'] },
    `spec.clusterIPs: Invalid value: ["None","10.0.0.5"]: 'None' must be the first and only value`,
  ],
  [
    { clusterIP: '10.0.0.5', clusterIPs: ['10.0.0.5', '10.0.0.6'] },
    'spec.clusterIPs: Invalid value: ["10.0.0.5","10.0.0.6"]: may specify no more than one IP for each IP family',
  ],
  [
    { clusterIP: '10.0.0.5', clusterIPs: ['10.0.0.5', 'fd00::1'] },
    `[spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified, spec.clusterIPs[1]: Invalid value: ["10.0.0.5","fd00::1"]: IPv6 is not configured on this cluster]`,
  ],
  [
    { ipFamilies: ['IPv5'] },
    'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
  ],
  [
    { ipFamilyPolicy: 'Some' },
    'spec.ipFamilyPolicy: Unsupported value: "Some": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
  ],
];

for (const [spec, errors] of malformed)
  test(`before anything is taken it is said alone, by a creation as by an update: ${errors}`, async () => {
    const { hooks, held } = await world();
    const message = `Service "a" is invalid: ${errors}`;
    await assert.rejects(create(hooks, service('a', spec)), { message });
    const named = service('a', { type: 'ExternalName', externalName: 'example.com' });
    await assert.rejects(update(hooks, service('a', spec), named), { message });
    assert.deepEqual(held(), []);
  });

test('who knows of one address only changes both or neither; a policy of one family takes out the second', async () => {
  const { hooks } = await world();
  const old = service('a', { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] });
  await create(hooks, old);
  const shorter = service('a', { clusterIP: 'foo', clusterIPs: ['10.0.0.1'] });
  await assert.rejects(update(hooks, shorter, old), {
    message: `Service "a" is invalid: spec.clusterIPs[0]: Invalid value: "foo": ${ip}`,
  });
  await assert.rejects(update(hooks, service('a', { clusterIPs: ['10.0.0.2'] }), old), {
    message:
      'Service "a" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`',
  });
  const headless = service('b', { clusterIP: 'None' });
  await create(hooks, headless);
  const single = service('b', { clusterIP: 'None', ipFamilyPolicy: 'SingleStack' });
  await update(hooks, single, headless);
  assert.deepEqual((single['spec'] as JsonObject)['ipFamilies'], ['IPv4']);
});

test('a range that is full is said to be, and what is deleted goes to the next', async () => {
  const { hooks, held } = await world();
  const all = Array.from({ length: 6 }, (_, i) => service(`s${i}`, {}));
  for (const one of all) await create(hooks, one);
  const full = { message: 'Internal error occurred: failed to allocate a serviceIP: range is full' };
  await assert.rejects(create(hooks, service('more', {})), full);
  await hooks.afterDelete!(all[2]!);
  const next = service('next', {});
  await create(hooks, next);
  assert.deepEqual((next['spec'] as JsonObject)['clusterIP'], (all[2]!['spec'] as JsonObject)['clusterIP']);
  assert.equal(held().length, 6);
});

test('an update takes what is new and gives back what is gone, and only then', async () => {
  const { hooks, held } = await world();
  const old = service('a', { ...first, type: 'NodePort', ports: portOne });
  await create(hooks, old);
  const moved = service('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_002 }] });
  const undo = await hooks.beforeUpdate!(moved, old, wet);
  assert.deepEqual(held(), ['10.0.0.1 of a', '30001 of a', '30002 of a']);
  await undo?.();
  assert.deepEqual(held(), ['10.0.0.1 of a', '30001 of a']);
  await update(hooks, moved, old);
  assert.deepEqual(held(), ['10.0.0.1 of a', '30002 of a']);
  const inside = service('a', { ports: [{ port: 80 }] });
  await update(hooks, inside, moved);
  assert.deepEqual(held(), ['10.0.0.1 of a']);
  const named = service('a', { type: 'ExternalName', externalName: 'example.com' });
  await update(hooks, named, inside);
  assert.deepEqual(held(), []);
  await update(hooks, service('a', first), named);
  assert.deepEqual(held(), ['10.0.0.1 of a']);
});

test('an address may not change', async () => {
  const { hooks } = await world();
  const old = service('a', first);
  await create(hooks, old);
  await assert.rejects(update(hooks, service('a', { clusterIP: '10.0.0.2' }), old), {
    message:
      'Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  });
});

test('nobody gives back what another has: a late undo and a deletion look whose it is', async () => {
  const { hooks, held } = await world();
  const undo = await create(hooks, service('a', first));
  await hooks.afterDelete!(service('a', first));
  await create(hooks, service('b', first));
  await undo?.();
  await hooks.afterDelete!(service('a', first));
  assert.deepEqual(held(), ['10.0.0.1 of b']);
  // The same name once more: what the first creation took is not what the second has.
  await hooks.afterDelete!(service('b', first));
  await create(hooks, service('a', first));
  await undo?.();
  assert.deepEqual(held(), ['10.0.0.1 of a']);
});
