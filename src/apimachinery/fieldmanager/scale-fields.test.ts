// Owners of replicas between a workload and its scale.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../declaration.ts';
import { parentEntries, type ReplicasPath, scaleEntries } from './scale-fields.ts';

const path: ReplicasPath = (apiVersion) => (apiVersion === 'apps/v1' ? ['spec', 'replicas'] : undefined);
const entry = (
  manager: string,
  operation: string,
  fieldsV1: JsonObject,
  more: JsonObject = {},
): JsonObject => ({
  apiVersion: 'apps/v1',
  fieldsType: 'FieldsV1',
  fieldsV1,
  manager,
  operation,
  time: '2026-01-01T00:00:00Z',
  ...more,
});
const timeless = ({ time: _, ...rest }: JsonObject): JsonObject => rest;
const replicas = { 'f:spec': { 'f:replicas': {} } };
const inScale = { apiVersion: 'autoscaling/v1' };
const both = { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } };
const paused = { 'f:spec': { 'f:paused': {} } };

test('a scale shows who owns the replicas, and nothing else', () => {
  const entries = [entry('a', 'Apply', both), entry('b', 'Update', paused), entry('c', 'Update', replicas)];
  assert.deepEqual(scaleEntries(entries, path), [
    entry('a', 'Apply', replicas, inScale),
    entry('c', 'Update', replicas, inScale),
  ]);
  assert.deepEqual(scaleEntries(undefined, path), []);
  const elsewhere = [entry('a', 'Apply', { 'f:spec': { 'f:pool': { 'f:size': {} } } })];
  assert.deepEqual(
    scaleEntries(elsewhere, () => ['spec', 'pool', 'size']),
    [entry('a', 'Apply', replicas, inScale)],
  );
});

test('who lost the replicas in the scale loses them in the parent; who won them is there by its subresource', () => {
  const applier = entry('s', 'Apply', replicas, {
    ...inScale,
    subresource: 'scale',
    time: '2026-02-02T00:00:00Z',
  });
  const parent = [entry('a', 'Update', both), entry('b', 'Update', paused), entry('c', 'Update', replicas)];
  assert.deepEqual(parentEntries(parent, path, { entries: [applier], apiVersion: 'apps/v1' }), [
    timeless({ ...applier, apiVersion: 'apps/v1' }),
    entry('a', 'Update', paused),
    entry('b', 'Update', paused),
  ]);
});

test('who still owns the replicas keeps its entry and its time; who updated nothing else is entered anew', () => {
  const later = { ...inScale, time: '2026-02-02T00:00:00Z' };
  const scale = { apiVersion: 'apps/v1' };
  for (const [operation, fields] of [
    ['Update', both],
    ['Apply', both],
    ['Apply', replicas],
  ] as const) {
    const entries = [entry('a', operation, replicas, later)];
    const kept = [entry('a', operation, fields)];
    assert.deepEqual(parentEntries(kept, path, { ...scale, entries }), kept);
  }
  const updated = entry('a', 'Update', replicas);
  assert.deepEqual(
    parentEntries([updated], path, { ...scale, entries: [entry('a', 'Update', replicas, later)] }),
    [timeless(updated)],
  );
});

test('each entry is read in its own version; one of a version that is no more goes, one without a scale stays', () => {
  const paths: ReplicasPath = (apiVersion) =>
    ({ 'e.com/v1': ['spec', 'replicas'], 'e.com/v2': ['spec', 'size'], 'e.com/v3': null })[apiVersion];
  const size = { 'f:spec': { 'f:size': {} } };
  const parent = [
    entry('a', 'Apply', size, { apiVersion: 'e.com/v2' }),
    entry('b', 'Apply', replicas, { apiVersion: 'e.com/v3' }),
    entry('c', 'Apply', replicas, { apiVersion: 'e.com/v0' }),
    entry('d', 'Apply', replicas, { apiVersion: 'e.com/v2' }),
  ];
  assert.deepEqual(scaleEntries(parent, paths), [entry('a', 'Apply', replicas, inScale)]);
  const winner = entry('s', 'Apply', replicas, { ...inScale, subresource: 'scale' });
  assert.deepEqual(parentEntries(parent, paths, { entries: [winner], apiVersion: 'e.com/v2' }), [
    timeless({ ...winner, apiVersion: 'e.com/v2', fieldsV1: size }),
    entry('b', 'Apply', replicas, { apiVersion: 'e.com/v3' }),
    entry('d', 'Apply', replicas, { apiVersion: 'e.com/v2' }),
  ]);
});

test('who owned a map of which the replicas were all owns the map itself, without a dot', () => {
  const whole = { 'f:spec': { '.': {}, 'f:replicas': {} } };
  const winner = entry('s', 'Update', replicas, { ...inScale, subresource: 'scale' });
  assert.deepEqual(
    parentEntries([entry('a', 'Apply', whole)], path, { entries: [winner], apiVersion: 'apps/v1' }),
    [entry('a', 'Apply', { 'f:spec': {} }), timeless({ ...winner, apiVersion: 'apps/v1' })],
  );
});
