// Which APIServices of this server are made, put back and removed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { ResourceStore } from '../../apiserver/registry/store.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { customService, LocalApiServices, type LocalService, localChanges } from './local-api-services.ts';

const custom = customService('example.com', 'v1');
const builtIn: LocalService = { name: 'v1.apps', managed: 'onstart', spec: { group: 'apps', version: 'v1' } };
const wanted = new Map([custom, builtIn].map((one) => [one.name, one]));
const local = { conditions: [{ type: 'Available', status: 'True', reason: 'Local' }] };

const stored = (name: string, managed: string | undefined, more: JsonObject): JsonObject => ({
  metadata: { name, uid: 'u', ...(managed === undefined ? {} : { labels: { [label]: managed } }) },
  status: local,
  ...more,
});
const label = 'kube-aggregator.kubernetes.io/automanaged';
const elsewhere = { spec: { group: 'example.com', service: { name: 'a' } } };

test('what is missing is made, and what is as it shall be stays', () => {
  assert.deepEqual(localChanges([], wanted), [
    { kind: 'create', wanted: custom },
    { kind: 'create', wanted: builtIn },
  ]);
  const both = [
    stored(custom.name, 'true', { spec: custom.spec }),
    stored(builtIn.name, 'onstart', { spec: builtIn.spec }),
  ];
  assert.deepEqual(localChanges(both, wanted), []);
});

const rows: readonly (readonly [string, JsonObject, object | undefined])[] = [
  ['a managed one is put back', stored(custom.name, 'true', elsewhere), { kind: 'update', wanted: custom }],
  ['one that is not managed stays whose it is', stored(custom.name, undefined, elsewhere), undefined],
  [
    'a built-in one is put back, managed or not',
    stored(builtIn.name, undefined, elsewhere),
    { kind: 'update', wanted: builtIn },
  ],
  [
    'without a definition it goes',
    stored('v1.gone', 'true', { spec: {} }),
    { kind: 'delete', name: 'v1.gone', uid: 'u' },
  ],
  ["somebody's own stays", stored('v1.own', undefined, elsewhere), undefined],
  [
    'a local one is said to be available',
    stored(custom.name, 'true', { spec: custom.spec, status: {} }),
    { kind: 'available', name: custom.name },
  ],
  [
    'a damaged one is put back',
    { metadata: { name: builtIn.name, labels: 7 }, spec: [] },
    { kind: 'update', wanted: builtIn },
  ],
];

for (const [what, object, expected] of rows)
  test(what, () => {
    const changes = localChanges([object], wanted).filter(({ kind }) => kind !== 'create');
    assert.deepEqual(changes, expected === undefined ? [] : [expected]);
  });

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Writes are told by name, when they are tried. */
function kept({
  isAway = () => false,
  isUnreadable = () => false,
  current = [] as JsonObject[],
  names = ['v1.example.com'],
}) {
  const clock = new FakeClock(0);
  const tried: [string, number][] = [];
  const write = async (name: string): Promise<void> => {
    tried.push([name, clock.monotonic()]);
    if (isAway()) throw new Error('storage is away');
  };
  const store = {
    create: (_: string, { metadata }: { metadata: { name: string } }) => write(metadata.name),
    delete: (_: string, name: string) => write(name),
  };
  const list = (): JsonObject[] => {
    if (isUnreadable()) throw new Error('no key opens it');
    return current;
  };
  const services = new LocalApiServices({
    store: store as unknown as ResourceStore,
    live: { list } as unknown as LiveObjects,
    wanted: () => new Map([custom].filter(({ name }) => names.includes(name)).map((one) => [one.name, one])),
    clock,
    log: silentLogger,
  });
  return { clock, tried, services };
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(Math.min(100, left));
    await settled();
  }
}

test('what could not be written is tried again, ever more seldom, until it can be', async () => {
  let isAway = true;
  const { clock, tried, services } = kept({ isAway: () => isAway });
  services.look();
  await settled();
  await pass(clock, 8_000);
  assert.deepEqual(
    tried.map(([, at]) => at),
    [0, 500, 1_500, 3_500, 7_500],
  );
  isAway = false;
  await pass(clock, 8_000);
  assert.equal(tried.at(-1)?.[1], 15_500);
  assert.equal(clock.pending, 0);
});

test('while one of them can not be read nothing is written, and it is looked again', async () => {
  let isUnreadable = true;
  const { clock, tried, services } = kept({ isUnreadable: () => isUnreadable });
  services.look();
  await settled();
  await pass(clock, 3_000);
  assert.deepEqual([tried.length, clock.pending], [0, 1]);
  isUnreadable = false;
  await pass(clock, 4_000);
  assert.deepEqual(tried, [[custom.name, 3_500]]);
  assert.equal(clock.pending, 0);
});

test('what nobody wants stays for a while, whatever else is looked at, and goes then though storage was away', async () => {
  let isAway = true;
  const gone = stored('v1.gone', 'true', { spec: {} });
  const { clock, tried, services } = kept({ isAway: () => isAway, current: [gone], names: [] });
  services.look();
  await settled();
  await pass(clock, 1_500);
  services.look();
  await pass(clock, 400);
  assert.deepEqual(tried, []);
  await pass(clock, 700);
  assert.deepEqual(tried, [
    ['v1.gone', 2_000],
    ['v1.gone', 2_500],
  ]);
  isAway = false;
  await pass(clock, 1_000);
  assert.deepEqual(tried.at(-1), ['v1.gone', 3_500]);
});

test('nothing is tried after the end', async () => {
  const { clock, tried, services } = kept({ isAway: () => true });
  services.look();
  await settled();
  services.close();
  assert.equal(clock.pending, 0);
  services.look();
  await settled();
  assert.equal(tried.length, 1);
});
