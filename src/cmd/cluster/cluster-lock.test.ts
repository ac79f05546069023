// The lock of a cluster leaves nothing behind where no cluster is.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import type { Progress } from '../progress.ts';
import { withClusterLock } from './cluster-lock.ts';
import { clusterPaths } from './cluster-state.ts';

const progress: Progress = { say: () => {}, step: (_, body) => body(() => {}) };

test('an up that is refused before it made anything leaves no lock; that of a cluster stays', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'cluster-lock-'));
  t.after(() => rmSync(home, { recursive: true }));
  const locked = (body: () => Promise<void>): Promise<void> =>
    withClusterLock(linuxProcesses, { home, name: 'x' }, progress, body);
  const refused = locked(async () => {
    assert.ok(existsSync(join(home, 'locks/x')));
    throw new Error('refused');
  });
  await assert.rejects(refused, /^Error: refused$/);
  assert.deepEqual(readdirSync(home), []);
  await locked(async () => void mkdirSync(clusterPaths(home, 'x').root, { recursive: true }));
  assert.deepEqual(readdirSync(join(home, 'locks')), ['x']);
});
