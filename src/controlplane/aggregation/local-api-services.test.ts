// Which APIServices of this server are made, put back and removed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { customService, type LocalService, localChanges } from './local-api-services.ts';

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
