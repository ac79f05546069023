// What is off by itself, and the flags that turn it on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readApiEnablement, servedByDefault } from './api-enablement.ts';

const migrations = {
  group: 'storagemigration.k8s.io',
  version: 'v1beta1',
  resource: 'storageversionmigrations',
};
const pods = { group: '', version: 'v1', resource: 'pods' };
const on = ['StorageVersionMigrator=true'];
const serves = (gates: string[], config: string[]): boolean =>
  readApiEnablement(gates, config).serves(migrations);

test('a beta version is served with its gate and when it is asked for, not with one of the two', () => {
  const asked = ['storagemigration.k8s.io/v1beta1=true'];
  assert.equal(servedByDefault(migrations), false);
  assert.equal(servedByDefault(pods), true);
  assert.equal(serves([], []), false);
  assert.equal(serves(on, []), false);
  assert.equal(serves([], asked), false);
  assert.equal(serves(on, asked), true);
  assert.equal(readApiEnablement(on, asked).serves(pods), true);
  assert.deepEqual(readApiEnablement([], asked).warnings, [
    'StorageVersionMigrator storage is disabled because the StorageVersionMigrator feature gate is disabled',
  ]);
  assert.deepEqual(readApiEnablement(on, asked).warnings, []);
});

test('stages, versions and resources: what says more is stronger, wherever it stands', () => {
  assert.equal(serves(on, ['api/all=true']), true);
  assert.equal(serves(on, ['api/beta=true']), true);
  assert.equal(serves(on, ['api/alpha=true']), false);
  assert.equal(serves(on, ['storagemigration.k8s.io/v1beta1=false,api/all=true']), false);
  assert.equal(serves(on, ['api/beta=false', 'storagemigration.k8s.io/v1beta1']), true);
  const one = 'storagemigration.k8s.io/v1beta1/storageversionmigrations';
  assert.equal(serves(on, [`${one}=true`]), true);
  assert.equal(serves(on, [`${one}=false,storagemigration.k8s.io/v1beta1=true`]), false);
});

test('gates of a stage, and one that is named', () => {
  const asked = ['api/beta=true'];
  assert.equal(serves(['AllBeta=true'], asked), true);
  assert.equal(serves(['AllAlpha=true'], asked), false);
  assert.equal(serves(['AllBeta=true,StorageVersionMigrator=false'], asked), false);
  assert.equal(serves(['StorageVersionMigrator=true', 'StorageVersionMigrator=false'], asked), false);
  assert.equal(readApiEnablement(on, []).isEnabled('StorageVersionMigrator'), true);
});

test('what upstream refuses is refused in its words', () => {
  for (const [gates, config, message] of [
    [['NoSuchGate=true'], [], 'unrecognized feature gate: NoSuchGate'],
    [['constructor=true'], [], 'unrecognized feature gate: constructor'],
    [['StorageVersionMigrator'], [], 'missing bool value for StorageVersionMigrator'],
    [
      ['StorageVersionMigrator=yes'],
      [],
      'invalid value of StorageVersionMigrator=yes, err: strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    [[], ['v1=true'], 'runtime-config invalid key v1'],
    [[], ['a/b/c/d=true'], 'runtime-config invalid key a/b/c/d'],
    [[], ['example.com/v1=true'], 'unknown api groups example.com/v1'],
    [[], ['apps/v7=true'], 'group version apps/v7 that has not been registered'],
    [
      [],
      ['storagemigration.k8s.io/v1beta1=maybe'],
      'invalid value of storagemigration.k8s.io/v1beta1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    [
      [],
      ['apps/v1/Deployments=true'],
      'invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase plural, not "Deployments"',
    ],
    [[], ['api/beta=1'], 'invalid value api/beta=1'],
    [[], ['api/all=false'], 'invalid runtime-config with only api/all=false'],
  ] as const)
    assert.throws(() => readApiEnablement(gates, config), { message });
});

test('what the server itself needs is not turned off', () => {
  for (const config of [
    'apps/v1=false',
    'api/ga=false',
    'api/all=false,storagemigration.k8s.io/v1beta1=true',
    'batch/v1/jobs=false',
  ])
    assert.throws(() => readApiEnablement([], [config]), /can't be turned off/);
  assert.equal(readApiEnablement([], ['apps/v1=true']).serves(pods), true);
});
