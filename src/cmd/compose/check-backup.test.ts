// A backup whose objects are none, or whose files cannot all be: refused, and which one is said.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backup } from '../../storage/backup/backup-format.ts';
import { checkBackup } from './check-backup.ts';

const key = '/registry/core/configmaps/default/a';
const backup = (text: string, names: readonly string[] = []): Backup => ({
  revision: 7,
  createdAt: '2026-11-22T08:00:00Z',
  entries: [{ key, revision: 3, value: Buffer.from(text) }],
  files: names.map((name) => ({ name, text: '' })),
});
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels: { x: 'y' } } };
const changed = (changes: object): string => JSON.stringify({ ...object, ...changes });
const withMetadata = (changes: object): string => changed({ metadata: { ...object.metadata, ...changes } });

test('objects and keys of a server pass', () => {
  checkBackup(backup(JSON.stringify(object), ['pki/ca.crt', 'pki/etcd/ca.crt']));
});

const faults: readonly (readonly [text: string, fault: string])[] = [
  ...['', '[]', 'null', '7', '{', '\xff'].map((text) => [text, 'is no object'] as const),
  [changed({ kind: undefined }), 'has no kind'],
  [changed({ apiVersion: 7 }), 'has no apiVersion'],
  [changed({ metadata: null }), 'has no metadata'],
  [changed({ metadata: 7 }), 'has no metadata'],
  [withMetadata({ name: undefined }), 'has no name'],
  [withMetadata({ creationTimestamp: 7 }), 'has a creationTimestamp that is no text'],
  [withMetadata({ labels: { x: 7 } }), 'has labels that are no texts'],
  [withMetadata({ annotations: [] }), 'has annotations that are no texts'],
  [withMetadata({ finalizers: 'x' }), 'has finalizers that are no list'],
];
for (const [text, fault] of faults)
  test(`an object that ${fault} is refused: ${text.slice(0, 60)}`, () => {
    assert.throws(() => checkBackup(backup(text)), { message: `the backup is damaged: ${key} ${fault}` });
  });

test('a file below another file is refused', () => {
  assert.throws(
    () => checkBackup(backup(JSON.stringify(object), ['pki/ca.crt', 'pki/ca.crt/x'])),
    /names a file that is none of a server's: "pki\/ca\.crt\/x"/,
  );
});
