// A containerd whose agent was killed before it wrote the pid down is found by its configuration, and ended.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { ensureContainerd, removeContainerd } from '../../src/kubelet/containerd/containerd-process.ts';
import { startTimeOf } from '../../src/kubelet/containerd/process-table.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { containerdIn } from '../harness/containerd-folders.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('lost-containerd');
const directory = scratch.path;
after(() => scratch.remove());

const host = createLinuxHost();
const deps = { host, clock: systemClock, log: silentLogger };
const options = containerdIn(directory, 'pause:none');
mkdirSync(options.cniConfDir, { recursive: true });

test('a containerd that nobody wrote down is ended before its folder is removed', async () => {
  for (let lost = 0; lost < 3; lost++) {
    const { pid } = await ensureContainerd(deps, options);
    rmSync(join(options.dir, 'containerd.pid'));
    await removeContainerd(deps, { ...options, images: true });
    assert.equal(await startTimeOf(host.files, pid), undefined, 'it still runs');
    assert.deepEqual(await host.files.list(options.root), []);
  }
});

test('an agent that comes back ends the containerd that nobody wrote down, and has one of its own', async () => {
  const first = await ensureContainerd(deps, options);
  rmSync(join(options.dir, 'containerd.pid'));
  const second = await ensureContainerd(deps, options);
  assert.notEqual(second.pid, first.pid);
  assert.equal(await startTimeOf(host.files, first.pid), undefined, 'two would write into one folder');
  await removeContainerd(deps, { ...options, images: true });
});
