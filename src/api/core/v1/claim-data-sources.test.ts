// Two fields for one thing: what was said in either is found in both, and what can't be had is passed over where it always was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareDataSources } from './claim-data-sources.ts';
import { validateClaimUpdate } from './validate-claims.ts';

type Spec = Parameters<typeof prepareDataSources>[0];

const claim = { kind: 'PersistentVolumeClaim', name: 'a' };
const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'a' };
const populator = { apiGroup: 'example.com', kind: 'Dump', name: 'a' };
const elsewhere = { ...snapshot, namespace: 'b' };

const update = (given: Spec, old: Spec | undefined): Spec => {
  const spec = structuredClone(given);
  prepareDataSources(spec, old);
  return spec;
};
const made = (given: Spec): Spec => update(given, undefined);

test('what a new claim says in one field is found in the other', () => {
  for (const source of [claim, snapshot])
    for (const given of [{ dataSource: source }, { dataSourceRef: source }])
      assert.deepEqual(made(given), { dataSource: source, dataSourceRef: source });
  assert.deepEqual(made({ dataSourceRef: populator }), { dataSource: populator, dataSourceRef: populator });
  assert.deepEqual(made({ dataSource: claim, dataSourceRef: snapshot }), {
    dataSource: claim,
    dataSourceRef: snapshot,
  });
  assert.deepEqual(made({}), {});
});

test('other kinds in the old field, and other namespaces, are passed over', () => {
  assert.deepEqual(made({ dataSource: populator }), {});
  assert.deepEqual(made({ dataSource: { kind: 'Secret', name: 'a' } }), {});
  assert.deepEqual(made({ dataSourceRef: elsewhere }), {});
});

test('an update keeps what the claim has, also from a client that knows one field', () => {
  const both = { dataSource: populator, dataSourceRef: populator };
  for (const given of [{ dataSource: populator }, { dataSourceRef: populator }, both])
    assert.deepEqual(update(given, both), both);
  assert.deepEqual(update({ dataSource: populator }, {}), {});
  assert.deepEqual(update({ dataSource: populator }, { dataSource: populator }), both);
  assert.deepEqual(update({ dataSourceRef: elsewhere }, { dataSourceRef: elsewhere }), {
    dataSourceRef: elsewhere,
  });
});

test('what one field said when the claim was made may be said again, and nothing else', () => {
  const claimOf = (spec: Spec) => ({
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      volumeName: 'v',
      ...spec,
    },
  });
  const stored = [{ dataSource: claim }, { dataSource: claim, dataSourceRef: claim }];
  for (const old of stored)
    for (const given of [...stored, { dataSourceRef: claim }])
      assert.deepEqual(validateClaimUpdate(claimOf(update(given, old)), claimOf(old)), []);
  for (const given of [{}, { dataSource: { ...claim, name: 'b' } }]) {
    const [error] = validateClaimUpdate(claimOf(update(given, stored[1])), claimOf(stored[1]!));
    assert.match(error?.message ?? '', /spec is immutable after creation/);
  }
});
