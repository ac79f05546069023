// Every kind's row has as many cells as its columns, whatever the object holds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableOf } from '../apimachinery/table.ts';
import { createScheme } from './scheme.ts';

const scheme = createScheme();
const now = Date.parse('2026-01-02T00:00:00Z');

test('the row of an empty object has a cell for each column, for every kind', () => {
  for (const d of scheme.resources()) {
    if (d.virtual) continue;
    assert.equal(d.row({ metadata: { name: 'x' } }, now).length, d.columns.length, `${d.group} ${d.kind}`);
    assert.equal(d.row({ metadata: 'x', spec: [], status: 1 }, now).length, d.columns.length, d.kind);
  }
});

test('a pod that waits for its first init container is Init:0/1', () => {
  const pods = scheme.resource('', 'v1', 'pods')!;
  const pod = {
    kind: 'Pod',
    metadata: { name: 'a', creationTimestamp: '2026-01-01T23:58:00Z' },
    spec: { containers: [{ name: 'c' }, { name: 'd' }], initContainers: [{ name: 'i' }], nodeName: 'n' },
    status: {
      phase: 'Pending',
      initContainerStatuses: [{ name: 'i', state: { running: {} }, restartCount: 0 }],
    },
  };
  assert.deepEqual(pods.row(pod, now), [
    'a',
    '0/2',
    'Init:0/1',
    '0',
    '2m',
    '<none>',
    'n',
    '<none>',
    '<none>',
  ]);
});

test('a container that crashes shows its reason, its restarts and when the last was', () => {
  const pods = scheme.resource('', 'v1', 'pods')!;
  const pod = {
    metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'c' }] },
    status: {
      phase: 'Running',
      podIPs: [{ ip: '10.0.0.1' }],
      containerStatuses: [
        {
          name: 'c',
          restartCount: 3,
          ready: false,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { finishedAt: '2026-01-01T23:59:50Z', exitCode: 1 } },
        },
      ],
    },
  };
  assert.deepEqual(pods.row(pod, now).slice(0, 6), [
    'a',
    '0/1',
    'CrashLoopBackOff',
    '3 (10s ago)',
    '24h',
    '10.0.0.1',
  ]);
  assert.equal(
    pods.row({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T23:59:50Z' } }, now)[2],
    'Terminating',
  );
});

test('a table carries columns, rows and the metadata of each object', () => {
  const d = scheme.resource('', 'v1', 'configmaps')!;
  const table = tableOf(d, [{ metadata: { name: 'a' }, data: { x: '1' } }], {
    now,
    includeObject: 'Metadata',
  });
  assert.deepEqual(table['rows'], [
    {
      cells: ['a', '1', '<unknown>'],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'a' } },
    },
  ]);
});
