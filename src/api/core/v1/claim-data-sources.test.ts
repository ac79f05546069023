// Two fields for one thing: what was said in either is found in both, and what can't be had is passed over where it always was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepDataSources, prepareDataSources } from './claim-data-sources.ts';

type Spec = Parameters<typeof prepareDataSources>[0];

const claim = { kind: 'PersistentVolumeClaim', name: 'a' };
const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'a' };
const populator = { apiGroup: 'example.com', kind: 'Dump', name: 'a' };
const elsewhere = { ...snapshot, namespace: 'b' };

const made = (given: Spec): Spec => {
  const spec = structuredClone(given);
  prepareDataSources(spec);
  return spec;
};

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
  const update = (given: Spec, old: Spec): Spec => {
    const spec = structuredClone(given);
    keepDataSources(spec, old);
    return spec;
  };
  const both = { dataSource: populator, dataSourceRef: populator };
  assert.deepEqual(update({ dataSource: populator }, both), { dataSource: populator });
  assert.deepEqual(update({ dataSource: populator }, {}), {});
  assert.deepEqual(update({ dataSource: claim }, {}), { dataSource: claim });
  assert.deepEqual(update({ dataSourceRef: elsewhere }, { dataSourceRef: elsewhere }), {
    dataSourceRef: elsewhere,
  });
});
