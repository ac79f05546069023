// Whose backup it is, its nodes say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseForeignBackup } from './foreign-backup.ts';

const entry = (key: string, object: unknown) => ({ key, value: Buffer.from(JSON.stringify(object)) });
const backupOf = (podCIDR?: string) => ({
  entries: [
    entry('/registry/core/pods/default/a', { spec: { podCIDR: '192.0.2.0/24' } }),
    entry('/registry/core/nodes/linux-1', { spec: podCIDR === undefined ? {} : { podCIDR } }),
    { key: '/registry/core/nodes/damaged', value: Buffer.from('{') },
  ],
});
const cluster = { name: 'big', clusterCidr: '10.130.0.0/16' };

test('a backup whose nodes have other pod addresses is refused, with what to do', () => {
  assert.throws(
    () => refuseForeignBackup(backupOf('10.244.1.0/24'), cluster),
    (error: Error & { next?: string }) => {
      assert.equal(
        error.message,
        'the backup is of another cluster: a node of it has pods at 10.244.1.0/24, those of "big" are in 10.130.0.0/16',
      );
      assert.match(error.next ?? '', /--force/);
      return true;
    },
  );
});

test("the cluster's own is not, nor one of nodes without addresses", () => {
  refuseForeignBackup(backupOf('10.130.2.0/24'), cluster);
  refuseForeignBackup(backupOf(), cluster);
});
