// Which devices claims get on a node, in upstream's cases: by class, expression, count, constraint, taint, pool and counter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  Device,
  DeviceClaim,
  DeviceClass,
  ResourceClaim,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../../api/generated/types/resource-v1.ts';
import { makeNode } from '../../testing/builders.ts';
import { allocateDevices, SelectorError } from './allocate-devices.ts';
import { devicePools } from './device-pools.ts';

const driver = 'gpu.example.com';
const node = makeNode('n', { labels: { rack: 'r1' } });

const slice = (devices: readonly Device[], spec: Partial<ResourceSliceSpec> = {}): ResourceSlice => ({
  metadata: { name: 's' },
  spec: {
    driver,
    nodeName: 'n',
    pool: { name: 'n', generation: 1, resourceSliceCount: 1 },
    devices: [...devices],
    ...spec,
  },
});
const gpu = (name: string, more: Partial<Device> & { readonly gib?: number } = {}): Device => {
  const { gib = 16, ...rest } = more;
  return {
    name,
    attributes: { model: { string: 'a100' }, version: { version: '1.2.3' }, [`${driver}/slot`]: { int: 1 } },
    capacity: { memory: { value: `${gib}Gi` } },
    ...rest,
  };
};
const claim = (devices: DeviceClaim, name = 'c'): ResourceClaim => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { devices },
});
const one = (more: object = {}): DeviceClaim => ({
  requests: [
    { name: 'gpu', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1, ...more } },
  ],
});
const cel = (expression: string): object => ({ selectors: [{ cel: { expression } }] });
const gpuClass: DeviceClass = {
  metadata: { name: 'gpu' },
  spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
};

function give(
  claims: readonly ResourceClaim[],
  slices: readonly ResourceSlice[],
  how: {
    readonly allocated?: readonly string[];
    readonly deviceClass?: DeviceClass;
    readonly on?: typeof node;
  } = {},
) {
  return allocateDevices(claims, how.on ?? node, {
    pools: devicePools(slices),
    deviceClass: (name) => (name === 'gpu' ? (how.deviceClass ?? gpuClass) : undefined),
    allocated: new Set((how.allocated ?? []).map((name) => `${driver}/n/${name}`)),
  });
}
/** `request=device` of each claim, or `none`. */
const given = (...args: Parameters<typeof give>): string =>
  give(...args)
    ?.map(({ devices }) =>
      (devices?.results ?? []).map(({ device, request }) => `${request}=${device}`).join(' '),
    )
    .join(' | ') ?? 'none';

test('a claim gets a device that nobody has, of the class, and of its node', () => {
  const slices = [slice([gpu('a'), gpu('b')])];
  assert.equal(given([claim(one())], slices), 'gpu=a');
  assert.equal(given([claim(one())], slices, { allocated: ['a'] }), 'gpu=b');
  assert.equal(given([claim(one())], slices, { allocated: ['a', 'b'] }), 'none');
  assert.equal(given([claim(one())], slices, { on: makeNode('m') }), 'none');
  assert.equal(given([claim(one()), claim(one(), 'd')], slices), 'gpu=a | gpu=b');
  assert.equal(given([claim(one({ count: 2 }))], slices), 'gpu=a gpu=b');
  assert.equal(given([claim(one({ count: 3 }))], slices), 'none');
  assert.deepEqual(give([claim(one())], slices)?.[0]?.nodeSelector, {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }],
  });
  const others = { ...gpuClass, spec: cel('device.driver == "other"') } as DeviceClass;
  assert.equal(given([claim(one())], slices, { deviceClass: others }), 'none');
});

test('expressions see attributes, versions and capacities; of a domain that is not there nothing', () => {
  const slices = [slice([gpu('small', { gib: 8 }), gpu('large', { gib: 80 })])];
  for (const [expression, expected] of [
    [`device.capacity["${driver}"].memory.compareTo(quantity("40Gi")) >= 0`, 'gpu=large'],
    [`device.attributes["${driver}"].model == "a100"`, 'gpu=small'],
    [`device.attributes["${driver}"].version.isGreaterThan(semver("1.0.0"))`, 'gpu=small'],
    [`device.attributes["${driver}"].slot == 2`, 'none'],
    ['"x" in device.attributes["other"]', 'none'],
  ] as const)
    assert.equal(given([claim(one(cel(expression)))], slices), expected, expression);
  for (const [expression, message] of [
    ['device.', /could not compile/],
    ['device.attributes["other"].x == 1', /no such key: x/],
    ['1', /must evaluate to bool/],
  ] as const)
    assert.throws(
      () => give([claim(one(cel(expression)))], slices),
      (error) => error instanceof SelectorError && message.test(error.message),
    );
});

test('all of a pool means all, and only of pools that are known whole', () => {
  const all = claim(one({ allocationMode: 'All', count: undefined }));
  assert.equal(given([all], [slice([gpu('a'), gpu('b')])]), 'gpu=a gpu=b');
  assert.equal(given([all], [slice([gpu('a'), gpu('b')])], { allocated: ['b'] }), 'none');
  const half = slice([gpu('a')], { pool: { name: 'n', generation: 1, resourceSliceCount: 2 } });
  assert.equal(given([all], [half]), 'none');
  assert.equal(given([claim(one())], [half]), 'none');
  const newer = slice([gpu('new')], { pool: { name: 'n', generation: 2, resourceSliceCount: 1 } });
  assert.equal(given([claim(one())], [slice([gpu('old')]), newer]), 'gpu=new');
});

test('devices of a claim match, or differ, in an attribute', () => {
  const numa = (n: number): Partial<Device> => ({ attributes: { numa: { int: n } } });
  const slices = [slice([gpu('a', numa(0)), gpu('b', numa(1)), gpu('c', numa(1))])];
  const two = one({ count: 2 });
  const matching = { ...two, constraints: [{ matchAttribute: `${driver}/numa` }] };
  assert.equal(given([claim(matching)], slices), 'gpu=b gpu=c');
  const distinct = { ...two, constraints: [{ distinctAttribute: `${driver}/numa` }] };
  assert.equal(given([claim(distinct)], slices), 'gpu=a gpu=b');
  assert.equal(
    given([claim({ ...two, constraints: [{ matchAttribute: `${driver}/none` }] })], slices),
    'none',
  );
});

test('the first alternative that there is is taken, and the request says which', () => {
  const alternatives: DeviceClaim = {
    requests: [
      {
        name: 'gpu',
        firstAvailable: [
          { name: 'big', deviceClassName: 'gpu', count: 2, allocationMode: 'ExactCount' },
          { name: 'small', deviceClassName: 'gpu', count: 1, allocationMode: 'ExactCount' },
        ],
      },
    ],
  };
  assert.equal(given([claim(alternatives)], [slice([gpu('a'), gpu('b')])]), 'gpu/big=a gpu/big=b');
  assert.equal(given([claim(alternatives)], [slice([gpu('a')])]), 'gpu/small=a');
});

test('administrators look at devices that others have; taints keep others away', () => {
  const slices = [slice([gpu('a', { taints: [{ key: 'broken', effect: 'NoSchedule' }] })])];
  assert.equal(given([claim(one())], slices), 'none');
  const tolerant = { tolerations: [{ key: 'broken', operator: 'Exists' }] };
  assert.equal(given([claim(one(tolerant))], slices), 'gpu=a');
  const looking = give([claim(one({ adminAccess: true }))], [slice([gpu('a')])], { allocated: ['a'] });
  assert.equal(looking?.[0]?.devices?.results?.[0]?.adminAccess, true);
});

test('devices that share counters of a pool get no more of them than there are', () => {
  const part = (name: string, gib: number): Device =>
    gpu(name, { consumesCounters: [{ counterSet: 'card', counters: { memory: { value: `${gib}Gi` } } }] });
  const counters = { sharedCounters: [{ name: 'card', counters: { memory: { value: '16Gi' } } }] };
  const slices = [slice([part('whole', 16), part('half-1', 8), part('half-2', 8)], counters)];
  assert.equal(given([claim(one({ count: 2 }))], slices), 'gpu=half-1 gpu=half-2');
  assert.equal(given([claim(one())], slices, { allocated: ['half-1'] }), 'gpu=half-2');
  assert.equal(given([claim(one())], slices, { allocated: ['whole'] }), 'none');
});

test('drivers are told the parameters of the class and of the claim; devices of several nodes say of which', () => {
  const opaque = (text: string) => ({ opaque: { driver, parameters: { text } } });
  const [result] =
    give(
      [
        claim({
          ...one(),
          config: [
            { requests: ['gpu'], ...opaque('claim') },
            { requests: ['other'], ...opaque('no') },
          ],
        }),
      ],
      [
        slice([gpu('a')], {
          nodeName: undefined,
          nodeSelector: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'In', values: ['r1'] }] }],
          },
        }),
      ],
      { deviceClass: { ...gpuClass, spec: { config: [opaque('class')] } } },
    ) ?? [];
  assert.deepEqual(result?.devices?.config, [
    { source: 'FromClass', requests: ['gpu'], ...opaque('class') },
    { source: 'FromClaim', requests: ['gpu'], ...opaque('claim') },
  ]);
  assert.deepEqual(result?.nodeSelector, {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'In', values: ['r1'] }] }],
  });
});

test('a search that could go on for ever ends without an answer', () => {
  const devices = Array.from({ length: 128 }, (_, i) => gpu(`d${i}`, { attributes: { n: { int: i } } }));
  const hard = { ...one({ count: 16 }), constraints: [{ matchAttribute: `${driver}/n` }] };
  assert.equal(given([claim(hard)], [slice(devices)]), 'none');
});
