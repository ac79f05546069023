// What `status` says of a server that is not ready.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedChecks, reasonText } from './server-health.ts';

test('N17: a full disk is said in status, with what to do', () => {
  assert.deepEqual(failedChecks('[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n'), [
    'etcd',
  ]);
  assert.deepEqual(failedChecks('[+]ping ok\n[+]etcd ok\nreadyz check passed\n'), []);
  assert.equal(
    reasonText(
      'etcd',
      'internal server error: the store cannot write: ENOSPC: no space left on device, write\n',
    ),
    'writes are refused, the disk is full (the store cannot write: ENOSPC: no space left on device, write): free some space, and it goes on by itself',
  );
  assert.equal(reasonText('etcd', 'internal server error: it is cold\n'), 'etcd failed: it is cold');
  assert.equal(reasonText('etcd', ''), 'etcd failed');
});
